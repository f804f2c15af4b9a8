// What the compiler does not do: the command must be executable (npm links it into node_modules/.bin as it is).
import { chmod } from 'node:fs/promises';

await chmod(new URL('../dist/src/cli.js', import.meta.url), 0o755);
