import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { en } from '../../panel/i18n/en.js';
import { ru } from '../../panel/i18n/ru.js';
import { PANEL, ROOT } from '../clone.js';
import { startStage } from './browser/stage.js';

const LANGUAGES = ['en', 'ru'];

describe('the build', () => {
  const sizeOf = (name: string) => gzipSync(readFileSync(join(PANEL, 'assets', name)), { level: 9 }).length;
  const sum = (names: readonly string[]) => names.reduce((total, name) => total + sizeOf(name), 0);
  const scripts = () => readdirSync(join(PANEL, 'assets')).filter((name) => name.endsWith('.js'));
  const isOf = (language: string) => (name: string) => name.startsWith(`${language}-`);
  /** The scripts that every reader fetches: the index names them. */
  const fetchedAtOnce = () =>
    [...readFileSync(join(PANEL, 'index.html'), 'utf8').matchAll(/assets\/([\w-]+\.js)/g)].map(([, name = '']) => name);

  it.each(LANGUAGES)('has at most 80 kB of gzipped JavaScript for a reader of %s', (language) => {
    const texts = scripts().filter(isOf(language));
    expect(texts).toHaveLength(1);
    expect(fetchedAtOnce().length).toBeGreaterThan(0);
    expect(sum([...fetchedAtOnce(), ...texts])).toBeLessThanOrEqual(80_000);
  });

  it('has at most 9 kB of gzipped styles', () => {
    const styles = readdirSync(join(PANEL, 'assets')).filter((name) => name.endsWith('.css'));
    expect(styles).toHaveLength(1);
    expect(sum(styles)).toBeLessThanOrEqual(9_000);
  });

  it.each([
    ['en', en],
    ['ru', ru],
  ])('has every text of %s, under a number', async (language, table) => {
    const [name = ''] = scripts().filter(isOf(language));
    const built: Readonly<Record<string, unknown>> = await import(pathToFileURL(join(PANEL, 'assets', name)).href);
    const entries = Object.values(built).flatMap((texts) => Object.entries(Object(texts)));
    const inOrder = (texts: readonly unknown[]) => texts.map((text) => JSON.stringify(text)).sort();
    expect(inOrder(entries.map(([, text]) => text))).toEqual(inOrder(Object.values(table)));
    expect(entries.filter(([short]) => !/^\d/.test(short))).toEqual([]);
  });

  it('has no other scripts than those', () => {
    const known = [...fetchedAtOnce(), ...LANGUAGES.flatMap((language) => scripts().filter(isOf(language)))];
    expect(scripts().filter((name) => !known.includes(name))).toEqual([]);
  });

  it('names nothing of the machine that it was made on', () => {
    for (const name of readdirSync(join(PANEL, 'assets'))) {
      expect(readFileSync(join(PANEL, 'assets', name)).includes(ROOT)).toBe(false);
    }
  });

  it('is served with a strict policy, hashed files for ever and the index never, compressed as built', async () => {
    const stage = await startStage('current', {
      panelServers: [{ root: 'https://other.example:9090/secret/api', name: 'Rotterdam' }],
      ownVersion: '9.8.7',
      subscriptions: { host: null, port: 8443, tls: true },
    });
    const index = await fetch(stage.panel, { headers: { 'accept-encoding': 'identity' } });
    expect(index.headers.get('cache-control')).toBe('no-cache');
    expect(index.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' https://other.example:9090; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(index.headers.get('x-content-type-options')).toBe('nosniff');
    const script = /\.\/(assets\/[\w-]+\.js)/.exec(await index.text())?.[1] ?? '';
    const file = await fetch(stage.panel + script, { headers: { 'accept-encoding': 'gzip' } });
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(file.headers.get('content-encoding')).toBe('gzip');
    expect(file.headers.get('content-type')).toBe('text/javascript');
    expect(await file.text()).toBe(gunzipSync(readFileSync(join(PANEL, `${script}.gz`))).toString());
    const config: unknown = await (await fetch(`${stage.panel}panel-config.json`)).json();
    expect(config).toEqual({
      offers: ['config', 'login', 'panel', 'audit', 'bulk', 'rules'],
      open: false,
      token: true,
      servers: [{ root: 'https://other.example:9090/secret/api', name: 'Rotterdam' }],
      keyway: '9.8.7',
      subscriptions: { host: null, port: 8443, tls: true },
      ownApi: true,
    });
    await stage.close();
  });
});

it('--protect-audit asks for the credential of the mount, by default anyone may read', async () => {
  const open = await startStage('current');
  expect((await fetch(`${open.api}/audit`)).status).toBe(200);
  await open.close();
  const closed = await startStage('current', { protectAudit: true });
  for (const method of ['GET', 'POST', 'DELETE']) {
    expect((await fetch(`${closed.api}/audit`, { method })).status).toBe(401);
  }
  expect(await closed.call('GET', '/audit')).toEqual([]);
  await closed.close();
});
