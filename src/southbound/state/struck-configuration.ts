import type { AccessKey, ServerConfiguration } from '../../core/model.js';
import type { ServerTexts } from '../secrets.js';

/**
 * What a server's configuration says, without Keyway's credentials in keys, rules and DNS settings. Its listener stays: whom the server
 * lets in is what Keyway reads it for.
 */
export function struckConfiguration(
  configuration: ServerConfiguration,
  { struck }: Pick<ServerTexts, 'struck'>,
): ServerConfiguration {
  const { keys, outbound, dns, warnings } = configuration;
  const all = (texts: readonly string[]) => texts.map(struck);
  const or = (text: string | null) => (text === null ? null : struck(text));
  const rules = outbound?.rules.map((rule) => {
    const { domainSuffix, ipCidr, protocol } = rule;
    return { ...rule, domainSuffix: all(domainSuffix), ipCidr: all(ipCidr), protocol: or(protocol) };
  });
  return {
    ...configuration,
    keys: keys.map((key) => inKey(key, struck)),
    outbound: outbound && { ...outbound, address: struck(outbound.address), rules: rules ?? [] },
    dns: {
      ...dns,
      dohUpstream: struck(dns.dohUpstream),
      adblockUrls: all(dns.adblockUrls),
      customDomains: new Map([...dns.customDomains].map(([name, address]) => [struck(name), struck(address)])),
    },
    warnings: all(warnings),
  };
}

/** A key with each of its texts changed; the same object where none becomes another. */
export function inKey(key: AccessKey, change: (text: string) => string): AccessKey {
  const accessKey = change(key.accessKey);
  const name = key.name === null ? null : change(key.name);
  return accessKey === key.accessKey && name === key.name ? key : { ...key, accessKey, name };
}
