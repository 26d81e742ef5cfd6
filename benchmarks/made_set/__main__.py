"""Write the made set: `python -m benchmarks.made_set`."""

from benchmarks.made_set.files import write
from benchmarks.made_set.model import DIRECTORY

if __name__ == "__main__":
    write(DIRECTORY)
