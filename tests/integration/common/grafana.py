"""Dashboards of Grafana: what each has to be, and a query of SQL with its macros and variables replaced as Grafana does."""
import re


def faults(board):
    """What is wrong with the panels: their places, their numbers, their descriptions."""
    wrong = []
    places = [(x, y) for panel in board["panels"] for g in [panel["gridPos"]] for x in range(g["x"], g["x"] + g["w"])
              for y in range(g["y"], g["y"] + g["h"])]
    wrong += ["panels cover each other"] if len(places) != len(set(places)) else []
    wrong += ["panels do not fill the width"] if max(x for x, _ in places) != 23 else []
    wrong += [f"{panel['title']} has no description" for panel in board["panels"] if not panel["description"]]
    wrong += ["two panels have one number"] if len({panel["id"] for panel in board["panels"]}) != len(board["panels"]) else []
    return wrong


def replaced(sql, board, chosen, begin, end, interval):
    """`chosen`: the values of a variable; without an entry it is All. `interval`: seconds."""
    for variable in board["templating"]["list"]:
        values = chosen.get(variable["name"])
        text = variable.get("allValue", "") if values is None else ",".join("'" + value.replace("'", "''") + "'" for value in values)
        sql = sql.replace("${%s:sqlstring}" % variable["name"], text)
    sql = re.sub(r"\$__unixEpochFilter\(([^)]*)\)", rf"\1 >= {begin} AND \1 <= {end}", sql)
    return re.sub(r"\$__unixEpochGroup\(([^,)]*), *\$__interval\)", rf"floor((\1)/{interval})*{interval}", sql)
