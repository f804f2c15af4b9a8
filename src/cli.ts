#!/usr/bin/env node
import { readFileSync } from 'node:fs';

// Nothing of the program is loaded before: an older Node would stop at what it does not know, with a stack trace.
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const { engines } = JSON.parse(manifest) as { readonly engines: { readonly node: string } }; // It is in every build.
const [least = 0, leastMinor = 0] = (engines.node.match(/\d+/g) ?? []).map(Number);
const [major = 0, minor = 0] = (process.version.match(/\d+/g) ?? []).map(Number);

if (major > least || (major === least && minor >= leastMinor)) void import('./program.js');
else {
  process.stderr.write(
    `Keyway needs Node ${least}.${leastMinor} or later, and this is ${process.version} (${process.execPath}): install a later one, or put it first in PATH\n`,
  );
  process.exitCode = 2;
}
