// Reads a trace of mpit-dump --perfetto, or a profile of mpit-dump --pprof, with speedscope's own importer, and says what it made of it:
//
//     npm install speedscope && node speedscope.js FILE
//
// The release has the importer inside of its page, so that is loaded without a browser, up to where it would draw.
// Exit status 1: the importer refused the file, or closed a call out of order. A call that never returned (its process
// was killed) is closed by speedscope at the end, which is counted apart.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const release = path.join(process.cwd(), 'node_modules/speedscope/dist/release');
const page = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let source = fs.readFileSync(path.join(release, page), 'utf8');

const lazy = [...source.matchAll(/Promise\.resolve\(\)\.then\(\(\)=>\((\w+)\(\),(\w+)\)\)/g)];
const end = source.lastIndexOf('console.log(`speedscope v');
if (!lazy.length || end < 0) throw new Error('this release of speedscope is built otherwise; adapt this script');
source = source.slice(0, end) +
    'globalThis.modules=[' + lazy.map((m) => `()=>(${m[1]}(),${m[2]})`).join(',') + '];})();';

const anything = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : key === 'dcodeIO' || key === 'Long' ? undefined : anything), // no class of long numbers
    apply: () => anything,
    construct: () => anything,
    set: () => true,
});
const said = {refused: 0, unfinished: 0, arguments: 0};
const warn = (text) => {
    if (/Ending .* instead/.test(text)) said.arguments++;
    else if (/still open at end/.test(text)) said.unfinished++;
    else { said.refused++; if (said.refused < 10) process.stderr.write(text + '\n'); }
};
const context = vm.createContext({
    console: {log() {}, warn, error: warn}, window: anything, document: anything, navigator: {userAgent: '', platform: ''},
    location: {hash: '', protocol: 'file:'}, TextDecoder, TextEncoder, URL, setTimeout, performance, localStorage: anything,
    requestAnimationFrame() {}, matchMedia: anything, self: anything, fetch: anything, FileReader: anything, atob, btoa,
});
vm.runInContext(source, context);
const importer = context.modules.map((load) => { try { return load(); } catch (problem) { return {}; } })
    .find((m) => m.importProfileGroupFromText);
if (!importer) throw new Error('no importer in this release of speedscope');

const file = fs.readFileSync(process.argv[2]), bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
importer.importProfilesFromArrayBuffer(path.basename(process.argv[2]), bytes).then((group) => {
    if (!group || !group.profiles.length) throw new Error('speedscope knows no such format');
    for (const profile of group.profiles) {
        const calls = {};
        profile.forEachCall((node) => {
            const name = node.frame.name;
            calls[name] = (calls[name] || 0) + 1;
        }, () => {});
        console.log(JSON.stringify({profile: profile.getName(), total: profile.getTotalWeight(), unit: profile.getWeightUnit(), calls}));
    }
    console.log(JSON.stringify(said));
    process.exit(said.refused ? 1 : 0);
}).catch((problem) => { console.error(problem); process.exit(1); });
