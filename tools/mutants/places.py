"""Mutants and where they are in the sources.

areas/AREA.json holds the mutants of an area:
  suites   those that run, in this order, until one fails; "sim:folding" for the files of suite sim with that in their path
  mutants  a list; each has
    id      words that no other mutant has
    file    a source, from the root
    within  text around `old` that the file has exactly once (may be left out where `old` is such a text)
    old     an expression, exactly once in `within`
    new     the expression in its place
    suites  other suites than the area's (may be left out)
    known   true: this one must be killed, whatever the share (may be left out)

White space does not count when texts are compared, so that the formatter may break lines elsewhere.
"""
import dataclasses
import functools
import json
import pathlib
import re
import zlib

AREAS = pathlib.Path(__file__).resolve().parent / "areas"
SWITCH = '#include "tools/mutants/switch.hpp"\n#line 1\n'  # messages keep the line numbers of the tree
KEYS = {"id", "file", "within", "old", "new", "suites", "known"}


class DoesNotApply(Exception):
    """A mutant whose place is not in the sources, or not only once."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    area: str
    id: str
    file: str
    old: str
    new: str
    suites: tuple
    within: str = ""
    known: bool = False

    @property
    def number(self):
        """Stays when others join the list, so that builds stay as well."""
        return zlib.crc32(self.id.encode()) or 1

    def __str__(self):
        return f"{self.area}/{self.id} ({self.file})"


def load(folder=AREAS):
    mutants = []
    for path in sorted(folder.glob("*.json")):
        area = json.loads(path.read_text())
        for entry in area["mutants"]:
            if unknown := set(entry) - KEYS:
                raise DoesNotApply(f"{path.stem}/{entry.get('id')}: unknown keys {', '.join(sorted(unknown))}")
            mutants.append(Mutant(area=path.stem, **{**entry, "suites": tuple(entry.get("suites", area["suites"]))}))
            for text in entry["old"], entry["new"]:
                if not is_expression(text):
                    raise DoesNotApply(f"{mutants[-1]}: no expression: {text}")
    for key in "id", "number":
        seen = {}
        for mutant in mutants:
            if (other := seen.setdefault(getattr(mutant, key), mutant)) is not mutant:
                raise DoesNotApply(f"{mutant} and {other} have the same {key}")
    return mutants


def is_expression(text):
    """Whether parentheses match and no operand is missing at an end, as far as characters tell."""
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"^\s*([=<>|,;?:/%.]|&&|!=)|[-=<>&|,;?:+*/%.!]\s*$", text)


@functools.cache
def pattern_of(text):
    tokens = re.findall(r"\w+|\S", text)
    parts = [re.escape(tokens[0])]
    for before, token in zip(tokens, tokens[1:]):
        parts += [r"\s+" if re.match(r"\w", before[-1]) and re.match(r"\w", token) else r"\s*", re.escape(token)]
    start = r"(?<!\w)" if re.match(r"\w", tokens[0]) else ""
    end = r"(?!\w)" if re.match(r"\w", tokens[-1][-1]) else ""
    return re.compile(start + "".join(parts) + end)


def find_once(text, wanted, mutant, where):
    found = list(pattern_of(wanted).finditer(text))
    if len(found) != 1:
        raise DoesNotApply(f"{mutant}: {where} has its text {len(found)} times and not once: {' '.join(wanted.split())}")
    return found[0].span()


def place_of(mutant, text):
    """The span of `old` in the text of its file."""
    if not mutant.within:
        return find_once(text, mutant.old, mutant, "the file")
    start, end = find_once(text, mutant.within, mutant, "the file")
    inner = find_once(text[start:end], mutant.old, mutant, "its `within`")
    return start + inner[0], start + inner[1]


def made_variable(text, places):
    """Constants that hold a mutant are known when the program starts and not when it is compiled. No place moves."""
    for start, _ in places:
        begin = max(text.rfind(c, 0, start) for c in ";{}") + 1
        if found := re.search(r"\bconstexpr\b", text[begin:start]):
            at = begin + found.start()
            text = text[:at] + "const    " + text[at + len("constexpr"):]
    return text


def with_mutants(text, mutants):
    """The text of a file with a switch at the place of each mutant; places may lie within each other. Raises DoesNotApply."""
    # Outer places first; of the same place each mutant wraps the next.
    placed = sorted(((place_of(m, text), m) for m in mutants), key=lambda p: (p[0][0], -p[0][1]))
    for n, ((_, end), mutant) in enumerate(placed):
        for (start, later_end), other in placed[n + 1:]:
            if start < end < later_end:
                raise DoesNotApply(f"{mutant} and {other} overlap")
    text = made_variable(text, [place for place, _ in placed])

    def rewrite(start, end, inside):
        result, at = "", start
        while inside:
            (first, last), mutant = inside[0]
            nested = [p for p in inside[1:] if p[0][0] < last]
            inside = inside[1 + len(nested):]
            result += text[at:first] + f"(mutants::is({mutant.number}u) ? ({mutant.new}) : ({rewrite(first, last, nested)}))"
            at = last
        return result + text[at:end]

    return SWITCH + rewrite(0, len(text), placed)
