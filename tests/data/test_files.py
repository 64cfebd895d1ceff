"""Where files are looked for, what a user is told, and what a download that breaks off leaves behind."""

import gzip
import hashlib
import http.server
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmbench.core.torch_compat import torchvision
from ebmbench.data import fashion_mnist, mnist
from ebmbench.data.common.download import DownloadError, RemoteFile, download
from ebmbench.data.common.files import UNVERIFIED, Files, describe_damage
from ebmbench.errors import UserError
from ebmbench.workspace.layout import DATA_ROOT
from tests.data.originals import files, write_idx

REPOSITORY = Path(__file__).parents[2]


def offline(*_: object) -> None:
    raise DownloadError("train-images-idx3-ubyte.gz: no route to host")


def test_without_files_and_network_one_line_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        mnist.images(files("mnist", tmp_path, download=offline))
    line = str(raised.value)
    for part in [
        "train-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
        "mnist/",
        DATA_ROOT,
        "data.root",
        "no route",
    ]:
        assert part in line
    assert "\n" not in line


def test_a_folder_that_lacks_a_file_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError, match=r"mnist lacks t10k-labels-idx1-ubyte\.gz\)"):
        mnist.images(files("mnist", tmp_path, download=offline))


def test_an_unreachable_host_is_given_up_in_seconds(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"^a\.gz: "):
        download([RemoteFile("a.gz", "0" * 32, ["http://127.0.0.1:9/a.gz"])], tmp_path / "place")
    assert time.monotonic() - start < 20
    assert not list(tmp_path.rglob("*"))


def test_a_host_that_never_answers_is_given_up_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ebmbench.data.common.download.TIMEOUT", 0.2)
    with http.server.HTTPServer(
        ("127.0.0.1", 0), http.server.BaseHTTPRequestHandler
    ) as silent:  # accepts, says nothing
        start = time.monotonic()
        with pytest.raises(DownloadError, match="timed out"):
            download([RemoteFile("a", "0" * 32, [f"http://127.0.0.1:{silent.server_port}/a"])], tmp_path / "place")
        assert time.monotonic() - start < 5


def test_the_environment_comes_before_the_parameters_and_they_before_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DATA_ROOT, raising=False)
    monkeypatch.setenv(UNVERIFIED, "1")
    write_idx(tmp_path / "work" / "downloads" / "mnist", train=20)
    assert len(mnist.images(Files.from_settings("mnist", (99, 99), tmp_path, None)).train) == 20
    write_idx(tmp_path / "own" / "mnist", train=30)
    assert len(mnist.images(Files.from_settings("mnist", (99, 99), tmp_path, "own")).train) == 30
    write_idx(tmp_path / "elsewhere", train=40)
    monkeypatch.setenv(DATA_ROOT, str(tmp_path / "elsewhere"))
    assert len(mnist.images(Files.from_settings("mnist", (99, 99), tmp_path, "own")).train) == 40


def test_downloads_go_below_the_given_root_or_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA_ROOT, raising=False)
    assert Files.from_settings("mnist", (9, 9), tmp_path, None).downloads == tmp_path / "work" / "downloads"
    assert Files.from_settings("mnist", (9, 9), tmp_path, "own").downloads == tmp_path / "own"


def test_a_root_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_ROOT, str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"EBMBENCH_DATA: found .*nowhere"):
        Files.from_settings("mnist", (9, 9), tmp_path, None)


def test_a_package_of_the_system_comes_before_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx(tmp_path / "package", train=30, packed=True)
    write_idx(tmp_path / "none" / "downloads" / "fashion_mnist", train=40)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path / "package")
    assert len(fashion_mnist.images(files("fashion_mnist", tmp_path / "none")).train) == 30


def test_what_is_packed_anew_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(b"content", mtime=1))
    content = hashlib.md5(b"content").hexdigest()
    assert describe_damage(file, (content,)) is None
    file.write_bytes(file.read_bytes()[:-9])
    assert "damaged" in str(describe_damage(file, (content,)))


class Server:
    """Serves a folder; can break off in the middle of a file, or stand still there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mode, self.halted = folder, "whole", threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = (outer.folder / self.path.rsplit("/", 1)[-1]).read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                first = "train-images" not in self.path or outer.mode == "whole"
                self.wfile.write(body if first else body[: len(body) // 2])
                if not first and outer.mode == "halt" and self.headers.get("Method") is None:
                    self.wfile.flush()
                    outer.halted.set()
                    time.sleep(4)

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Small packed files, served as if by MNIST's mirror, with their own sums as the published ones."""
    write_idx(tmp_path / "published", packed=True)
    serving = Server(tmp_path / "published")
    dataset = torchvision().datasets.MNIST
    sums = [(name, md5_of(tmp_path / "published" / name)) for name, _ in dataset.resources]
    monkeypatch.setattr(dataset, "resources", sums)
    monkeypatch.setattr(dataset, "mirrors", [serving.url])
    thread = threading.Thread(target=serving.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield serving
    serving.server.shutdown()
    serving.server.server_close()
    thread.join()


def md5_of(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def project(tmp_path: Path) -> Files:
    return Files("mnist", 99, 99, (), tmp_path / "downloads")


def test_a_download_is_kept_and_used_again(tmp_path: Path, server: Server) -> None:
    first = mnist.images(project(tmp_path))
    assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == ["mnist"]
    server.mode = "break"
    assert mnist.images(project(tmp_path)).train.equal(first.train)


def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path, server: Server) -> None:
    server.mode = "break"
    with pytest.raises(UserError, match=r"could not be downloaded \(train-images-idx3-ubyte\.gz: "):
        mnist.images(project(tmp_path))
    assert not list((tmp_path / "downloads").rglob("*"))
    server.mode = "whole"
    assert len(mnist.images(project(tmp_path)).train) == 40


KILLED = """
import sys
from pathlib import Path
from ebmbench.core.torch_compat import torchvision
from ebmbench.data import mnist
from ebmbench.data.common.files import Files
torchvision().datasets.MNIST.mirrors = [sys.argv[1]]
mnist.images(Files("mnist", 99, 99, (), Path(sys.argv[2])))
"""


def test_a_killed_download_is_never_mistaken_for_data(tmp_path: Path, server: Server) -> None:
    server.mode = "halt"
    command = [sys.executable, "-c", KILLED, server.url, str(tmp_path / "downloads")]
    child = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert server.halted.wait(60)
    time.sleep(0.5)
    child.send_signal(signal.SIGKILL)
    child.wait()
    short = [path for path in (tmp_path / "downloads").rglob("*") if path.is_file()]
    assert short  # half a file lies about, but not where data are looked for
    assert not (tmp_path / "downloads" / "mnist").exists()
    server.mode = "whole"
    assert len(mnist.images(project(tmp_path)).train) == 40


def test_half_an_extraction_by_torchvision_is_not_taken(tmp_path: Path, server: Server) -> None:
    """torchvision unpacks in place: a kill leaves a short file beside the packed one, and it would be read."""
    raw = tmp_path / "MNIST" / "raw"
    write_idx(raw, packed=True)
    write_idx(raw)
    short = raw / "train-images-idx3-ubyte"
    short.write_bytes(short.read_bytes()[:1000])
    assert len(mnist.images(files("mnist", tmp_path, verify=True)).train) == 40
    (raw / "train-images-idx3-ubyte.gz").unlink()
    with pytest.raises(UserError, match=r"raw/train-images-idx3-ubyte: damaged .*found MD5 \w+, expected \w+"):
        mnist.images(files("mnist", tmp_path, verify=True))
