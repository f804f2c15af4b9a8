import { describe, expect, it } from 'vitest';
import { DEFAULT_DNS, DEFAULT_PUBLISHED } from '../../../src/core/model.js';
import { readPublicHost, settingsOf } from '../../../src/homes/file/settings-of.js';

const configuration = (listen: string | null) => ({
  mode: 'server',
  keys: [],
  listener: null,
  listen,
  outbound: null,
  dns: DEFAULT_DNS,
  published: DEFAULT_PUBLISHED,
  warnings: [],
});

describe('what clients are told', () => {
  it.each([
    ['0.0.0.0:50000', { host: '203.0.113.7', port: 50000 }],
    ['[::]:50000', { host: '203.0.113.7', port: 50000 }],
    ['198.51.100.1:50000', { host: '203.0.113.7', port: 50000 }],
    ['127.0.0.1:50000', { host: '203.0.113.7', port: 50000 }],
    [null, { host: '203.0.113.7' }],
  ])('of a file with listen %s beside a server that knows its public host is %j', (listen, announced) => {
    expect(settingsOf(configuration(listen), '203.0.113.7').announced).toEqual(announced);
  });

  it.each([
    ['203.0.113.7', '198.51.100.1:5', { host: 'vpn.example.com', port: 5 }],
    [null, '198.51.100.1:5', { host: 'vpn.example.com', port: 5 }],
    [null, null, { host: 'vpn.example.com' }],
  ])('names the domain before the host found (%s) and the address of listen (%s)', (found, listen, announced) => {
    const published = { ...DEFAULT_PUBLISHED, domain: 'vpn.example.com' };
    expect(settingsOf({ ...configuration(listen), published }, found).announced).toEqual(announced);
  });

  it('is the address of the file alone where no such host is known', () => {
    expect(settingsOf(configuration('0.0.0.0:5'), null).announced).toEqual({ host: '0.0.0.0', port: 5 });
  });
});

describe('the host that a server has noted', () => {
  const noted = (text: string | null) =>
    readPublicHost('/etc/server/server.json', {
      read: async (path) => {
        if (text === null) throw Object.assign(new Error('none'), { code: 'ENOENT' });
        expect(path).toBe('/etc/server/.ostp_public_ip');
        return Buffer.from(text);
      },
    });

  it.each([
    ['203.0.113.7\n', '203.0.113.7'],
    ['vpn.example.org', 'vpn.example.org'],
    ['\r\n203.0.113.7\r\n2001:db8::7\n', '203.0.113.7'],
    ['2001:db8::7', '[2001:db8::7]'],
    ['<html>', null],
    ['', null],
    [null, null],
  ])('of the text %j is %j', async (text, host) => {
    expect(await noted(text)).toBe(host);
  });
});
