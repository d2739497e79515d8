# Makes the databases of the rows beside it, which `go test ./cmd/inspect/merod -update` writes:
# 2026-05 and strange as a merod that was killed leaves it, with all rows in the log; 2026-08 in tables of
# format version 6 with Snappy, as RocksDB 9 and later write by themselves.
#
#   pip install rocksdict==0.3.29 (RocksDB 9.8.4); python3 make.py [NAME...]
import json
import os
import shutil
import sys

from rocksdict import DBCompressionType, Options, Rdict

for layout in sys.argv[1:] or ("2026-05", "2026-08", "strange", "home/data"):
    shutil.rmtree(layout, ignore_errors=True)
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        for name in os.listdir(layout):  # what says nothing of the rows
            if name.startswith(("LOG", "OPTIONS", "rocksdict")) or name in ("LOCK", "IDENTITY"):
                os.remove(os.path.join(layout, name))
        continue
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(DBCompressionType.snappy())
    db = Rdict(layout, options)
    families = {}
    for line in open(layout + ".jsonl"):
        row = json.loads(line)
        family = row["family"]
        if family not in families:
            families[family] = db.create_column_family(family, options)
        families[family][bytes.fromhex(row["key"])] = bytes.fromhex(row["value"])
    if layout == "2026-08":
        for family in families.values():
            family.flush()
    db.flush_wal(True)
    os._exit(0)
