import { execFileSync } from 'node:child_process';
import { ROOT } from './clone.js';

/** Where there is no git, or it refuses another user's clone. */
const WITHOUT_GIT = 1;

/** The seed of the tree that is checked out: two runs of one commit make up the same, the next commit tries other things. */
function seedOfTree(): number {
  try {
    const tree = execFileSync('git', ['rev-parse', 'HEAD^{tree}'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
    return Number.parseInt(tree.toString().slice(0, 7), 16);
  } catch {
    return WITHOUT_GIT;
  }
}

/** The seed of all that tests make up: `TEST_SEED`, a whole number below 2^31, or that of the tree. */
export const SEED = Number(process.env.TEST_SEED ?? seedOfTree());
