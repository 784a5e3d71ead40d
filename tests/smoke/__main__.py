"""``python -m tests.smoke SEAM``: does this environment carry the engine, Spark or Dagster? Needs no pytest.

It ends with 0 where the seam works, with 3 where the product refuses it in words of its own, which are printed, and
with a traceback where it fails.
"""

import argparse
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from maintenance.errors import PaimonError
from tests.smoke.seams import SEAMS

REFUSED = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.smoke", description=__doc__)
    parser.add_argument("seam", choices=SEAMS)
    with TemporaryDirectory(prefix="paimon-smoke-") as folder:
        try:
            SEAMS[parser.parse_args().seam](Path(folder))
        except PaimonError as error:
            print(error)
            return REFUSED
        except Exception as error:  # an error of ours may come back from Spark as text
            refused = re.search(r"^maintenance\.errors\.UnsupportedError: (.*)$", str(error), re.MULTILINE)
            if refused is None:
                raise
            print(refused[1])
            return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
