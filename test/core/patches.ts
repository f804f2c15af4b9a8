import { expect, it } from 'vitest';
import type { Backend, ConfigurationFingerprint, ConfigurationPatch } from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';

/** A home that holds a configuration, as far as patching it goes. */
export interface PatchableHome {
  readonly backend: Pick<Backend, 'keys' | 'settings' | 'onChange'>;
  patch(patch: ConfigurationPatch): Promise<ConfigurationFingerprint>;
  createKey(accessKey: string): Promise<void>;
  /** The configuration as it is held. */
  text(): Promise<string>;
  /** The number of versions that are kept. */
  versions(): Promise<number>;
  close(): Promise<void>;
}

export type OpenPatchable = (before: string) => Promise<PatchableHome>;

const BEFORE = `{
  "mode": "server", // meant so
  "listen": "0.0.0.0:50000",
  "access_keys": [
    { "access_key": "first", "name": "One", "limit_bytes": 18446744073709551615 } // of the boss
  ],
  "large": 18446744073709551615,
  "dns": { "enabled": false, /* later */ "local_port": 53 }
}
`;

const COMMENTS = / ?(\/\/.*|\/\*.*\*\/)/g;

const patchOf = (
  form: 'json' | 'merge',
  body: unknown,
  condition: ConfigurationPatch['condition'] = () => undefined,
) => ({
  form,
  body: Buffer.from(JSON.stringify(body)),
  condition,
});

/**
 * What every home does with a patch (`src/document/patch/`). A server's configuration has no comments, and the one of these
 * tests does not write its keys into it.
 */
export function itPatches(open: OpenPatchable, { isServer = false } = {}): void {
  const before = !isServer ? BEFORE : BEFORE.replaceAll(COMMENTS, '');
  const comments = !isServer ? ['// meant so', '// of the boss', '/* later */'] : [];
  it('makes the smallest edit, live at once, with the version before kept', async () => {
    const home = await open(before);
    const kept = await home.versions();
    const told: string[] = [];
    home.backend.onChange((reason) => told.push(reason));
    await home.patch(patchOf('merge', { dns: { enabled: true } }));
    expect(await home.text()).toBe(before.replace('"enabled": false', '"enabled": true'));
    expect(home.backend.settings().dns).toMatchObject({ enabled: true, localPort: 53 });
    expect(told.length).toBeGreaterThan(0);
    expect(await home.versions()).toBeGreaterThanOrEqual(Math.max(1, kept));
    if (!isServer) expect(home.backend.keys.get('first')?.limitBytes).toBe(2n ** 64n - 1n);
    await home.close();
  });

  it('changes nothing, and keeps nothing, where it is refused', async () => {
    const home = await open(before);
    const refuse = () => {
      throw new DomainError('preconditionFailed', 'for a test');
    };
    const refused = [
      [patchOf('merge', { dns: { enabled: true } }, refuse), 'preconditionFailed'],
      [patchOf('json', [{ op: 'test', path: '/large', value: 1 }]), 'conflict'],
      [patchOf('merge', { access_keys: [] }), 'useKeys'],
      [patchOf('merge', { mode: null }), 'configModeMissing'],
      [patchOf('json', {}), 'invalidBody'],
    ] as const;
    for (const [patch, code] of refused) await expect(home.patch(patch)).rejects.toMatchObject({ code });
    expect(await home.text()).toBe(before);
    expect(home.backend.settings().dns.enabled).toBe(false);
    await home.close();
  });

  it('gives its condition the configuration that is there, and resolves to the one that there is then', async () => {
    const home = await open(before);
    const seen: string[] = [];
    const look = patchOf('json', [], ({ digest }) => seen.push(digest));
    const { digest: first } = await home.patch(look);
    expect(seen).toEqual([first]);
    await home.createKey('second');
    expect((await home.patch(look)).digest).toBe(first);
    const { digest: changed } = await home.patch(patchOf('merge', { large: 1 }));
    expect(changed).not.toBe(first);
    expect((await home.patch(look)).digest).toBe(changed);
    await home.close();
  });

  it('loses no key that is made meanwhile, and no comment', async () => {
    const home = await open(before);
    const [keys, patches] = [40, 12];
    const bot = (async () => {
      for (let n = 0; n < keys; n += 1) await home.createKey(`bot-${n}`);
    })();
    const form = (async () => {
      for (let n = 1; n <= patches; n += 1)
        await home.patch(patchOf('merge', { dns: { local_port: n }, note: `edit ${n}` }));
    })();
    await Promise.all([bot, form]);
    const text = await home.text();
    for (let n = 0; n < keys; n += 1) {
      expect(home.backend.keys.get(`bot-${n}`)).toBeDefined();
      if (!isServer) expect(text).toContain(`"bot-${n}"`);
    }
    expect(text).toContain(`"local_port": ${patches}`);
    expect(text).toContain(`"note": "edit ${patches}"`);
    for (const comment of comments) expect(text).toContain(comment);
    await home.close();
  });
}
