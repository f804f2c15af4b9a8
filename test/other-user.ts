import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user under whom a test starts processes, so that they cannot rest on the rights of root: `user` where the tests run as root and
 * `user` can reach Node, the temporary folder and `files`; else null, the user of the tests. Says on standard output when root stays.
 */
export async function otherUser(user: User, files: readonly string[] = []): Promise<User | null> {
  if (process.getuid?.() !== 0) return null;
  const needed = [process.execPath, tmpdir(), ...files];
  try {
    await promisify(execFile)('bash', ['-c', '[[ -x $0 && -x $1 && ( $# = 1 || -r $2 ) ]]', ...needed], user);
    return user;
  } catch {
    process.stdout.write(`run as root: another user cannot read one of ${needed.join(', ')}\n`);
    return null;
  }
}
