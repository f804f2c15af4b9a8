import { expect, it } from 'vitest';
import { readDocument } from '../../src/document/document.js';

it.each([
  ['vpn.example.com', 'vpn.example.com'],
  [' localhost ', 'localhost'],
  ['2001:db8::1', '2001:db8::1'],
  ['https://vpn.example.com/', null],
  ['vpn.example.com:443', null],
  ['*.example.com', null],
])('of %j as the domain links name %s, and what is no host is named', (domain, host) => {
  const { configuration } = readDocument(Buffer.from(JSON.stringify({ mode: 'server', domain, access_keys: [] })));
  expect(configuration.published.domain).toBe(host);
  const warnings = ['domain: expected a host without a scheme, a port and a path; links do not name it'];
  expect(configuration.warnings).toEqual(host === null ? warnings : []);
});
