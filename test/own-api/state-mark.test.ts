import { expect, it } from 'vitest';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { DEFAULT_DNS, DEFAULT_PUBLISHED } from '../../src/core/model.js';
import { markOf } from '../../src/own-api/state-mark.js';

it('the mark of settings is another one where the address of a name is', () => {
  const keys = new KeyRegistry(() => 0);
  const marked = (address: string) => {
    const dns = { ...DEFAULT_DNS, customDomains: new Map([['box.example', address]]) };
    return markOf(keys, { outbound: null, dns, listener: null, announced: {}, published: DEFAULT_PUBLISHED });
  };
  expect(marked('10.0.0.1').settings).not.toBe(marked('10.0.0.2').settings);
  expect(marked('10.0.0.1')).toEqual(marked('10.0.0.1'));
});
