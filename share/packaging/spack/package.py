"""Copy into a repository of Spack as packages/mpit/package.py. It needs the release archive beside it, or `url` where that is."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Mpit(CMakePackage):
    """mpit records the MPI calls of an unchanged program, always on, and shows where it waits, and for whom."""

    homepage = "https://example.org/mpit"
    url = f"file://{os.path.dirname(__file__)}/mpit-0.1.0.tar.gz"

    license("BSD-3-Clause")

    # sha256sum of the release archive, which share/packaging/release writes
    version("0.1.0", sha256="@SHA256@")

    variant("otf2", default=True, description="OTF2 archives")
    variant("names", default=True, description="Names of functions in profiles")
    variant("pprof", default=True, description="Profiles for pprof")
    variant("page", default=True, description="Pages with figures (--html)")
    variant("sqlite", default=True, description="Databases")
    variant("top", default=True, description="mpit-top")
    variant("exporter", default=True, description="mpit-exporter for Prometheus")
    variant("fabric", default=False, description="libfabric and UCX below MPI, of whose headers the recorder is compiled")
    variant("ompt", default=False, description="Threads of OpenMP, with runtimes that report them")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+names")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("mpi@3.1:")
    depends_on("jansson")
    depends_on("zstd")
    depends_on("elfutils")  # libelf, and libdw for names
    depends_on("otf2@3:", when="+otf2")
    depends_on("protobuf-c", when="+pprof")
    depends_on("zlib-api", when="+pprof")
    depends_on("sqlite", when="+sqlite")
    depends_on("ncurses", when="+top")
    depends_on("libmicrohttpd", when="+exporter")
    depends_on("libfabric", when="+fabric")
    depends_on("ucx", when="+fabric")
    depends_on("llvm-openmp", when="+ompt", type="build")

    # draws the figures; there is no package of it
    resource(
        name="d3",
        url="https://registry.npmjs.org/d3/-/d3-7.9.0.tgz",
        sha256="7e36605710a2ba54846797c8c6d888911341b215ae53257dc32a49a0b824355e",
        placement="d3",
        when="+page",
    )

    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")

    def cmake_args(self):
        # one MPI each installation: by its ABI, as the compiler wrapper tells
        abi = "openmpi" if self.spec["mpi"].name in ("openmpi", "hpcx-mpi") else "mpich"
        args = [self.define(f"MPIT_{name}_CC", "OFF") for name in ("openmpi", "mpich", "abi") if name != abi]
        args += [self.define(f"MPIT_{abi}_CC", self.spec["mpi"].mpicc), self.define("MPIT_TESTS", False)]
        for part in ("otf2", "names", "pprof", "page", "sqlite", "top", "exporter", "fabric", "ompt"):
            args.append(self.define_from_variant(f"MPIT_{part.upper()}", part))
        args += [self.define("MPIT_TOOLS", True), self.define("MPIT_PAPI", True)]
        if self.spec.satisfies("+page"):
            args.append(self.define("MPIT_D3", join_path(self.stage.source_path, "d3", "dist", "d3.min.js")))
        return args
