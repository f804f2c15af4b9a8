import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A user of this machine. */
export interface SystemUser {
  readonly uid: number;
  readonly groups: readonly number[];
}

/** The exit code of `id` for a user that does not exist. */
const NO_SUCH_USER = 1;

/**
 * Finds a user by name or number; null if there is none, 'unknown' if `id` gives no answer. It covers all of the
 * system's sources of users, a directory service among them.
 */
export async function findUser(user: string): Promise<SystemUser | 'unknown' | null> {
  const numbers = async (option: string) => {
    const { stdout } = await run('id', [option, '--', user]);
    return stdout.trim().split(/\s+/).map(Number);
  };
  try {
    const [[uid = 0], groups] = await Promise.all([numbers('-u'), numbers('-G')]);
    return { uid, groups };
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === NO_SUCH_USER ? null : 'unknown';
  }
}
