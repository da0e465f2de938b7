"""Where an installed sign-in process has its files and its socket."""

FOLDER = "/var/lib/table-sign-in"
SOCKET = "/run/table-sign-in/sign-in.sock"
KEY_FILE = "sign-in.key"
PUBLIC_FILE = "sign-in.pub"
REGISTER_FILE = "people.json"
TRIES_FILE = "tries.json"
SCREENS_FILE = "screens.json"
