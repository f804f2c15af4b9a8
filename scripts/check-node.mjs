// Ends a build on a Node that is too old with one sentence; it runs on every Node that has modules.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [least, leastMinor] = engines.node.match(/\d+/g).map(Number);
const [major, minor] = process.version.match(/\d+/g).map(Number);
if (major < least || (major === least && minor < leastMinor)) {
  console.error(
    `Keyway needs Node ${least}.${leastMinor} or later, and this is ${process.version} (${process.execPath}): install a later one, or put it first in PATH`,
  );
  process.exit(2);
}
