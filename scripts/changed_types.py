"""Check the types of the files that differ from the last commit, and of the files that import them.

`make check` runs it before a commit; `make lint` checks every file. It reads `git` and `import` lines alone, so a
module that an importer passes on under another name is left to `make lint`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = ("analytiq", "api", "workers", "reconciler", "tests", "benchmarks")


def lines_of(*command: str) -> list[str]:
    """Return a command's output by line; git's grep exits with 1 where nothing matches."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def changed_files() -> set[str]:
    """Return changed and new files; a deleted file counts for its importers."""
    names = lines_of("git", "diff", "--name-only", "HEAD") + lines_of(
        "git", "ls-files", "--others", "--exclude-standard"
    )
    return {name for name in names if name.endswith(".py") and name.split("/")[0] in CHECKED}


def importers_of(files: set[str]) -> set[str]:
    """Return the files with an import of one of the modules."""
    patterns: list[str] = []
    for file in files:
        package, _, name = re.sub(r"(/__init__)?\.py$", "", file).replace("/", ".").rpartition(".")
        module = f"{package}.{name}".removeprefix(".").replace(".", r"\.")
        patterns += ["-e", rf"^ *(from|import) {module}( |$)"]
        if package:
            patterns += ["-e", rf"^ *from {package.replace('.', chr(92) + '.')} import .*\b{name}\b"]
    return set(lines_of("git", "grep", "-lE", *patterns, "--", *CHECKED)) if patterns else set()


def main() -> int:
    """Run basedpyright over the files; its exit status is returned."""
    changed = changed_files()
    files = sorted(name for name in changed | importers_of(changed) if (ROOT / name).exists())
    if not files:
        print("No Python file differs from the last commit: no types to check (`make lint` checks all).")
        return 0
    print(
        f"Checking the types of {len(files)} files, of which {len(changed)} changed; `make lint` checks all.",
        flush=True,
    )
    return subprocess.run([Path(sys.executable).with_name("basedpyright"), *files], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
