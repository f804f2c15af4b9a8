import { describe, expect, it } from 'vitest';
import { rulesIn, withRules } from '../../panel/pages/file/rules-of-file.js';
import { parseTree, printTree } from '../../panel/text/json-tree.js';
import { INBOUNDS_FILE, SERVER_FILE } from './server-files.js';

const ADDED = { domain_suffix: ['added.example'], ip_cidr: [], protocol: null } as const;

function rulesOf(text: string) {
  const tree = parseTree(text);
  const read = rulesIn(tree);
  if (read === null) throw new Error('expected the file to have rules');
  return { tree, read, rules: read.rules, write: (next: typeof read.rules) => printTree(withRules(tree, read, next)) };
}

describe('the rules of a file', () => {
  it('name an action in the older layout, and those that only move keep their spelling', () => {
    const spelled = SERVER_FILE.replace('"domain_suffix": [".onion"],', '"domain_suffix": [".onion"], "weight": 1.50,');
    const { rules, write } = rulesOf(spelled);
    expect(rules.map(({ action }) => action)).toEqual(['proxy', 'block', 'direct']);
    const text = write([...rules.slice(1), ...rules.slice(0, 1), { ...ADDED, action: 'block' }]);
    expect(text).toContain('"weight": 1.50');
    const { rules: saved } = JSON.parse(text).outbound;
    expect(saved.map((rule: typeof ADDED) => rule.domain_suffix)).toEqual([
      undefined,
      ['.example.org'],
      ['.onion'],
      ['added.example'],
    ]);
    expect(saved.at(-1)).toEqual({ ...ADDED, action: 'block' });
  });

  it('name an outbound in the newer layout, whose kind is their action', () => {
    const { read, rules, write } = rulesOf(INBOUNDS_FILE);
    expect(rules.map(({ action, outbound }) => [action, outbound])).toEqual([
      ['proxy', 'tor'],
      ['block', 'block'],
    ]);
    expect(read.targets.map(({ tag }) => tag)).toEqual(['tor', 'direct', 'block']);
    const text = write([...rules, { ...ADDED, action: 'direct', outbound: 'direct' }]);
    expect(JSON.parse(text).routing.rules.at(-1)).toEqual({ ...ADDED, outbound: 'direct' });
  });

  it.each([
    ['outbound routing is not configured', '{ "mode": "server" }'],
    ['its rules are of another kind', '{ "mode": "server", "outbound": { "rules": [{ "action": "explode" }] } }'],
  ])('are not there where %s', (_, text) => {
    expect(rulesIn(parseTree(text))).toBeNull();
  });
});
