import { describe, expect, it } from 'vitest';
import { placesContinued } from '../../src/core/continued-items.js';
import { continueRules, RULES } from '../../src/core/continued-rules.js';
import type { OutboundAction, OutboundRule } from '../../src/core/model.js';

const rule = (suffix: string, action: OutboundAction, said: Partial<OutboundRule> = {}): OutboundRule => ({
  domainSuffix: [suffix],
  ipCidr: [],
  protocol: null,
  action,
  ...said,
});
const from = (sendFrom: string) => ({ sendFrom });

/** Who has written the rules, by what he cannot say. */
const WITHOUT_SEND_FROM = ['sendFrom'] as const;

describe('a rule whose writer cannot say where connections leave from', () => {
  it('continues an equal rule, else the first unused one with the same domains, addresses and protocol, whatever its action', () => {
    const present = [rule('.a', 'proxy', from('1')), rule('.b', 'proxy', from('2')), rule('.a', 'direct', from('3'))];
    const written = [rule('.a', 'block'), rule('.c', 'proxy'), rule('.a', 'proxy'), rule('.b', 'direct')];
    expect(continueRules(written, present, WITHOUT_SEND_FROM)).toEqual({
      rules: [
        rule('.a', 'block', from('3')),
        rule('.c', 'proxy'),
        rule('.a', 'proxy', from('1')),
        rule('.b', 'direct', from('2')),
      ],
      lost: 0,
    });
  });

  it('continues, of rules that look the same, those at the ends that are as they were', () => {
    const present = [rule('.a', 'proxy', from('1')), rule('.a', 'direct', from('2')), rule('.a', 'direct', from('3'))];
    const continued = (...written: Parameters<typeof continueRules>[0]) =>
      continueRules(written, present, WITHOUT_SEND_FROM).rules.map(({ sendFrom }) => sendFrom);
    const [proxy, direct] = [rule('.a', 'proxy'), rule('.a', 'direct')];
    expect(continued(proxy, direct, direct)).toEqual(['1', '2', '3']);
    expect(continued(direct, direct)).toEqual(['2', '3']);
    expect(continued(direct, direct, direct)).toEqual(['1', '2', '3']);
  });

  it('continues the unused rule at its place where there are as many rules, and none where there are not', () => {
    const present = [rule('.a', 'proxy', from('1')), rule('.b', 'proxy', from('2'))];
    expect(continueRules([rule('.b', 'proxy'), rule('.new', 'proxy')], present, WITHOUT_SEND_FROM)).toEqual({
      rules: [rule('.b', 'proxy', from('2')), rule('.new', 'proxy')],
      lost: 1,
    });
    expect(continueRules([rule('.new', 'proxy'), rule('.b', 'proxy')], present, WITHOUT_SEND_FROM)).toEqual({
      rules: [rule('.new', 'proxy', from('1')), rule('.b', 'proxy', from('2'))],
      lost: 0,
    });
    expect(continueRules([rule('.new', 'proxy')], present, WITHOUT_SEND_FROM)).toEqual({
      rules: [rule('.new', 'proxy')],
      lost: 2,
    });
  });

  it('does not continue one with another protocol, unless its writer cannot say that either', () => {
    const present = [rule('.a', 'proxy', { protocol: 'tcp', sendFrom: '1' }), rule('.b', 'proxy')];
    const written = [rule('.a', 'proxy')];
    expect(continueRules(written, present, WITHOUT_SEND_FROM)).toEqual({ rules: written, lost: 1 });
    expect(continueRules(written, present, ['protocol', 'sendFrom'])).toEqual({ rules: [present[0]], lost: 0 });
  });
});

describe('many rules that are all replaced by others', () => {
  it('are compared in time that grows with their number, not with its square', () => {
    let reads = 0;
    const counted = (count: number, suffix: string): readonly OutboundRule[] =>
      Array.from({ length: count }, (_, index) => ({
        ...rule('', 'proxy'),
        get domainSuffix() {
          reads += 1;
          return [`.${suffix}${index}`];
        },
      }));
    const readsFor = (count: number): number => {
      reads = 0;
      expect(placesContinued(counted(count, 'old'), counted(count, 'new'), RULES)).toHaveLength(count);
      return reads;
    };
    const few = readsFor(40);
    expect(readsFor(400)).toBeLessThanOrEqual(12 * few);
  });
});
