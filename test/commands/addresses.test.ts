import { expect, it } from 'vitest';
import { resolveRevision } from '../../revisions/index.js';
import { addressLines } from '../../src/commands/addresses.js';
import { createMount } from '../../src/northbound/mount.js';

const mountOf = (version: string, webpath: string) => {
  const resolved = resolveRevision(version);
  if (!resolved.ok) throw new Error(resolved.problem);
  return createMount({ revision: resolved.revision, version, webpath, panel: { file: async () => null } });
};
const MOUNTS = [mountOf('0.2.34', ''), mountOf('0.2.48', 'old'), mountOf('0.3.6', 'new')];
const machine = { ownAddresses: () => ['192.0.2.7', '2001:db8::7'], environment: {} };
const served = (url: string, mounts = MOUNTS) => ({ url, mounts, at: (path: string) => `${path} on ${url}` });

it('are one line a mount, with the panel where it has one', () => {
  expect(addressLines(served('http://192.0.2.7:9090'), machine)).toEqual([
    'earliest: API http://192.0.2.7:9090/api',
    'dns: panel http://192.0.2.7:9090/old/  API http://192.0.2.7:9090/old/api',
    'current: panel http://192.0.2.7:9090/new/  API http://192.0.2.7:9090/new/api',
  ]);
});

it('name an address of this machine where it listens on all, and the place of a socket', () => {
  const one = MOUNTS.slice(2);
  expect(addressLines(served('https://0.0.0.0:8443', one), machine)).toEqual(['Panel: https://192.0.2.7:8443/new/']);
  expect(addressLines(served('http://[::]:8080', one), { ...machine, ownAddresses: () => ['2001:db8::7'] })).toEqual([
    'Panel: http://[2001:db8::7]:8080/new/',
  ]);
  expect(addressLines(served('unix:/run/k.sock', one), machine)).toEqual(['Panel: /new/ on unix:/run/k.sock']);
});

it('say how a browser elsewhere comes to a loopback address, where it is looked at by SSH', () => {
  const environment = { SSH_CONNECTION: '198.51.100.4 50022 192.0.2.7 22' };
  const one = MOUNTS.slice(2);
  expect(addressLines(served('http://127.0.0.1:9090', one), { ...machine, environment })).toEqual([
    'Panel: http://127.0.0.1:9090/new/',
    'From your own machine: ssh -L 9090:127.0.0.1:9090 192.0.2.7, then open the same address there',
  ]);
  expect(addressLines(served('http://192.0.2.7:9090', one), { ...machine, environment })).toHaveLength(1);
});
