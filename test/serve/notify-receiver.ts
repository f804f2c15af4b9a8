import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Binds a datagram socket (a path, or `@` and a name for an abstract one) and prints each message as one line of JSON. */
const RECEIVER = `
import json, socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind('\\0' + name[1:] if name.startswith('@') else name)
print(json.dumps('bound'), flush=True)
while True:
    print(json.dumps(receiver.recv(65536).decode()), flush=True)
`;

/** What stands in for a service manager: its messages so far. */
export interface Receiver {
  readonly messages: readonly string[];
  /** Resolves once a message holds; never, when none comes. */
  received(holds: (message: string) => boolean): Promise<void>;
  close(): void;
}

/** Needs python3, for Node has no datagram sockets of this kind. */
export async function startReceiver(socket: string): Promise<Receiver> {
  const child = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  const messages: string[] = [];
  const looks = new Set<() => void>();
  const lines = createInterface({ input: child.stdout });
  const take = (line: string) => {
    messages.push(String(JSON.parse(line)));
    for (const look of [...looks]) look();
  };
  const bound = new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error('the receiver ended')));
    lines.once('line', () => {
      lines.on('line', take);
      resolve();
    });
  });
  await bound;
  return {
    messages,
    received: (holds) =>
      new Promise((resolve) => {
        const look = () => {
          if (!messages.some(holds)) return;
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
      }),
    close: () => child.kill(),
  };
}
