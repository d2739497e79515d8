# Makes DIR as another RocksDB leaves it when it is killed: format version 6, Snappy, three
# families, a deletion of a range, and rows that are in the log only.
#
#   pip install rocksdict==0.3.29 (RocksDB 9.8.4); python3 make.py DIR
import os
import sys

from rocksdict import DBCompressionType, Options, Rdict

options = Options(raw_mode=True)
options.create_if_missing(True)
options.create_missing_column_families(True)
options.set_compression_type(DBCompressionType.snappy())
options.set_disable_auto_compactions(True)
db = Rdict(sys.argv[1], options)
state = db.create_column_family("State", options)
meta = db.create_column_family("Meta", options)
for i in range(600):
    state[b"key%04d" % i] = (b"value %04d " % i) * 12
state.flush()
for i in range(0, 600, 3):
    state[b"key%04d" % i] = b"newer %04d" % i
for i in range(1, 600, 50):
    del state[b"key%04d" % i]
state.delete_range(b"key0300", b"key0320")
state.flush()
meta[b"logged"] = b"only in the log"
state[b"key0002"] = b"only in the log"
db.flush_wal(True)
os._exit(0)
