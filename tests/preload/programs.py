"""Real programs under `concede try`: they must do what they do without it.

Those run that are installed; ./test --programs installs them all. PROGRAM_ROUNDS (1) is how often each one runs in a
row; PROGRAM_COMPARE (0) how many pairs `--compare` runs: then it fails where concede's locks make a program slower by
more than 5 %, and by more than noise, or where watching costs more than 3 %, and mariadb runs, too.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import case, main, need, skip, tool  # noqa: E402

PROGRAM = os.environ["CONCEDE_PROGRAM"]
STANDARD = os.environ.get("STANDARD_PROGRAM")
ROUNDS = int(os.environ.get("PROGRAM_ROUNDS", "1"))
PAIRS = int(os.environ.get("PROGRAM_COMPARE", "0"))
WAYS = {"concede": [], "profile": ["--profile"]}
LIMIT = 600  # seconds until a program is taken to hang: far more than one needs on a busy machine
FOLDER = pathlib.Path(tempfile.mkdtemp())


def sample():
    """Some 6 MB that are the same everywhere, neither random nor all alike."""
    path = FOLDER / "sample"
    if not path.exists():
        word, text = b"concede", bytearray()
        while len(text) < 6_000_000:
            word = hashlib.sha256(word).digest()
            text += word[:8].hex().encode() + b" the quick brown fox " + word[8:12]
        path.write_bytes(text)
    return path


THREADS = """
import queue, threading
numbers, results = queue.Queue(10), queue.Queue()
done = threading.Condition()
def work():
    while (n := numbers.get()) is not None:
        results.put(n * n)
        with done:
            done.notify()
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for n in range(3000): numbers.put(n, timeout=60)
with done:
    done.wait_for(lambda: results.qsize() == 3000, timeout=60)
for t in threads: numbers.put(None)
for t in threads: t.join()
print(sum(results.get(timeout=1) for _ in range(3000)))
"""


def everything(text):
    return text


def of_sysbench(text):
    need(b"Threads fairness:" in text, text)
    return b""


# name: what to run, and what of its output must be the same with and without.
COMMANDS = {
    "sysbench mutex": (lambda: ["sysbench", "mutex", "--threads=4", "--mutex-locks=20000", "--mutex-loops=500", "run"],
                       of_sysbench),
    "sysbench one mutex": (lambda: ["sysbench", "mutex", "--threads=4", "--mutex-num=1", "--mutex-locks=50000",
                                    "--mutex-loops=100", "run"], of_sysbench),
    # It yields under the mutex, and each yield takes long where others want the CPUs: so not 1000 times an event.
    "sysbench threads": (lambda: ["sysbench", "threads", "--threads=4", "--time=0", "--events=3000",
                                  "--thread-yields=20", "run"], of_sysbench),
    "pbzip2": (lambda: ["pbzip2", "-p4", "-b1", "-c", sample()], everything),
    "pigz": (lambda: ["pigz", "-p4", "-n", "-c", sample()], everything),
    "xz": (lambda: ["xz", "-T4", "-1", "--block-size=1MiB", "-c", sample()], everything),
    "python3": (lambda: [sys.executable, "-c", THREADS], everything),
    "ffmpeg": (lambda: ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25:duration=4",
                        "-threads", "4",
                        "-c:v", "libx264", "-preset", "veryfast", "-f", "md5", "-"], everything),
    "std::condition_variable": (lambda: [STANDARD or skip("no C++ program was built")], everything),
    "gdb": (lambda: ["gdb", "-nx", "-batch", "-ex", "break main", "-ex", "info symbol main", PROGRAM], everything),
}


def plain(command):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          timeout=LIMIT)


def here(name):
    command, counts = COMMANDS[name]
    command = [str(c) for c in command()]
    tool(command[0])
    return command, counts


@case(each=["%s: %s" % (way, name) for name in COMMANDS for way in WAYS])
def does_what_it_does_without(what):
    way, name = what.split(": ")
    command, counts = here(name)
    expected = plain(command)
    need(expected.returncode == 0, expected.stderr.decode())
    for turn in range(ROUNDS):
        done = plain([PROGRAM, "try", *WAYS[way], "--", *command])
        need(done.returncode == 0, "round %d: exit code %d\n%s" % (turn, done.returncode, done.stderr.decode()))
        need(counts(done.stdout) == counts(expected.stdout), "round %d: it printed something else" % turn)


# A server under load, from its start to its end, in one command. This one is killed, because it would end itself at its
# next full second only.
def memcached_under_load():
    tool("memcached"), tool("memcslap")
    place = FOLDER / "memcached.sock"
    FOLDER.chmod(0o777)
    return ["sh", "-c", "memcached -u nobody -t 4 -s %s -a 0777 & until [ -S %s ]; do sleep 0.02; done; "
            "memcslap --servers=%s --concurrency=8 --execute-number=5000 || exit 1; kill -KILL $!; wait; rm -f %s"
            % ((place,) * 4)]


def mariadb_under_load():
    server, sysbench = tool("mariadbd"), tool("sysbench")
    data, place, user = mariadb_data("load")
    bench = "%s oltp_read_write --db-driver=mysql --mysql-socket=%s --mysql-user=root --tables=2 --table-size=1000 " \
            "--threads=4 --time=0 --events=1500" % (sysbench, place)
    text = "%s --no-defaults --datadir=%s --socket=%s --skip-networking --innodb-flush-log-at-trx-commit=0 %s " \
           "2>/dev/null & " \
           "until mariadb --no-defaults -uroot -S %s -e '%%s' >/dev/null 2>&1; do sleep 0.05; done; " \
           "%s %%s || exit 1; kill $!; wait" % (server, data, place, " ".join(user), place, bench)
    made = plain(["sh", "-c", text % ("create database sbtest", "prepare")])
    need(made.returncode == 0, made.stdout.decode() + made.stderr.decode())
    return ["sh", "-c", text % ("select 1", "run")]


SERVERS = {"memcached": memcached_under_load, "mariadb": mariadb_under_load}


@case(each=[*COMMANDS, *SERVERS] if PAIRS else [])
def is_not_slower(name):
    command = SERVERS[name]() if name in SERVERS else here(name)[0]
    path = FOLDER / "compare.json"
    done = plain([PROGRAM, "try", "--compare", PAIRS, "--json", path, "--", *command])
    need(done.returncode == 0, done.stderr.decode())
    sys.stdout.write(done.stderr.decode())
    wall = json.loads(path.read_text())["compare"]["wall"]
    need(wall["low"] <= 1.05 or not wall["more_than_noise"],
         "slower: %.3f, from %.3f to %.3f" % (wall["ratio"], wall["low"], wall["high"]))


# As the program itself measures it: what is printed after its end is not watching.
@case(each=["sysbench mutex"] if PAIRS else [])
def watching_costs_little(name):
    tool("sysbench")
    command = ["sysbench", "mutex", "--threads=2", "--mutex-locks=150000", "run"]

    def seconds(before):
        return float(re.search(rb"total time:\s+([\d.]+)s", plain(before + command).stdout).group(1))
    ratios = sorted(seconds([PROGRAM, "try", "--profile", "--"]) / seconds([]) for _ in range(3 * PAIRS))
    # The range of the median with a certainty of some 95 %: the sign test, by the normal distribution.
    low = ratios[max(0, int(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5))]
    print("watching: %.3f times as long (95 %%: from %.3f)" % (ratios[len(ratios) // 2], low))
    need(low <= 1.03, "watching costs %s" % ratios)


def memcached_client(address):
    """Sets, and gets what it set."""
    with socket.create_connection(address, timeout=LIMIT) as s, s.makefile("rwb") as f:
        for i in range(2000):
            value = b"%d" % (i * 7919)
            f.write(b"set key%d 0 0 %d\r\n%s\r\nget key%d\r\n" % (i % 100, len(value), value, i % 100))
            f.flush()
            need(f.readline() == b"STORED\r\n", "not stored")
            f.readline()
            need(f.readline() == value + b"\r\n", "another value than was set")
            need(f.readline() == b"END\r\n", "no end")


@case(each=WAYS)
def memcached_serves(way):
    tool("memcached")
    for turn in range(ROUNDS):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        server = subprocess.Popen([PROGRAM, "try", *WAYS[way], "--", "memcached", "-u", "nobody", "-t", "4", "-U", "0",
                                   "-l",
                                   "127.0.0.1", "-p", str(port)], stderr=subprocess.PIPE)
        try:
            for _ in range(100):
                try:
                    memcached_client(("127.0.0.1", port))
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            else:
                need(False, "it does not listen")
            if shutil.which("memcslap"):
                slap = ["memcslap", "--servers=127.0.0.1:%d" % port, "--concurrency=8", "--execute-number=500"]
                need(plain(slap).returncode == 0, "memcslap failed")
        finally:
            server.send_signal(signal.SIGTERM)
            errors = server.communicate(timeout=LIMIT)[1].decode()
        need(server.returncode == 0, "exit code %d\n%s" % (server.returncode, errors))


def mariadb_data(name):
    """A fresh database: its folder, its socket, and as whom to serve it."""
    data, place = FOLDER / ("mariadb-" + name), FOLDER / (name + ".sock")
    user = ["--user=mysql"] if os.getuid() == 0 else []
    if os.getuid() == 0:
        FOLDER.chmod(0o777)
    made = plain(["mariadb-install-db", "--no-defaults", "--datadir=%s" % data,
                  "--auth-root-authentication-method=normal", *user])
    if made.returncode != 0:
        skip("mariadb-install-db does not work here")
    return data, place, user


@case(each=WAYS if PAIRS else [])
def mariadb_serves(way):
    server_program, sysbench = tool("mariadbd"), tool("sysbench")
    data, place, user = mariadb_data(way)
    server = subprocess.Popen([PROGRAM, "try", *WAYS[way], "--", server_program, "--no-defaults", "--datadir=%s" % data,
                               "--socket=%s" % place, "--skip-networking", *user],
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        deadline = time.time() + LIMIT
        while not place.exists() and server.poll() is None and time.time() < deadline:
            time.sleep(0.1)
        need(place.exists(), "it does not start")
        need(plain(["mariadb", "--no-defaults", "-uroot", "-S", place, "-e", "create database sbtest"]).returncode == 0,
             "no database")
        bench = [sysbench, "oltp_read_write", "--db-driver=mysql", "--mysql-socket=%s" % place, "--mysql-user=root",
                 "--tables=2",
                 "--table-size=1000", "--threads=4", "--time=3"]
        for step in ["prepare"] + ["run"] * ROUNDS:
            done = plain(bench + [step])
            need(done.returncode == 0, done.stdout.decode() + done.stderr.decode())
    finally:
        server.send_signal(signal.SIGTERM)
        errors = server.communicate(timeout=LIMIT)[1].decode()
    need(server.returncode == 0, "exit code %d\n%s" % (server.returncode, errors[-3000:]))


try:
    main(jobs=1)
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
