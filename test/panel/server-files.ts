export const PASSWORD = 'password';
export const TOKEN = 'static-token-1';
export const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** A server's file as the tests begin with it. */
export const SERVER_FILE = `{
  "mode": "server",
  "listen": "203.0.113.7:50000",
  "access_keys": [
    "6f1d2c3b4a5968778695a4b3c2d1e0ff",
    { "access_key": "0c9e8d7f6a5b4c3d2e1f00112233ff44", "name": "Anna's laptop" },
    { "access_key": "guest-2026", "name": "Guests", "limit_bytes": 53687091200 },
    { "access_key": "exact-limit", "name": "Exact", "limit_bytes": 18446744073709551615 }
  ],
  "api": {
    "enabled": true,
    "bind": "127.0.0.1:9090",
    "token": "${TOKEN}",
    "webpath": "office/panel",
    "username": "admin",
    "password_hash": "${PASSWORD_HASH}"
  },
  "dns": {
    "enabled": true,
    "doh_upstream": "https://cloudflare-dns.com/dns-query",
    "adblock_urls": ["https://lists.example/ads.txt"],
    "custom_domains": { "printer.office.example": "192.0.2.20" }
  },
  "outbound": {
    "enabled": true, "protocol": "socks5", "address": "127.0.0.1", "port": 9050, "default_action": "direct",
    "rules": [
      { "domain_suffix": [".onion"], "action": "proxy" },
      { "ip_cidr": ["10.0.0.0/8", "192.168.0.0/16"], "action": "block" },
      { "domain_suffix": [".example.org"], "ip_cidr": [], "protocol": "tcp", "action": "direct" }
    ]
  },
  "monitoring": { "ratio": 0.10, "ceiling": 18446744073709551615 }
}
`;

/** The same with other DNS settings. */
export const fileWithDns = (dns: object): string =>
  SERVER_FILE.replace(/"dns": \{[\s\S]*?\n {2}\}/, `"dns": ${JSON.stringify(dns)}`);

/** The same in the layout of newer servers. */
export const INBOUNDS_FILE = `{
  "mode": "server",
  "log": { "level": "info" },
  "inbounds": [
    {
      "protocol": "ostp", "tag": "in", "listen": "203.0.113.7", "port": 50000,
      "users": [
        { "key": "0c9e8d7f6a5b4c3d2e1f00112233ff44", "name": "Anna's laptop" },
        { "key": "guest-2026", "name": "Guests", "limit_bytes": 53687091200 }
      ]
    },
    {
      "protocol": "api", "tag": "api", "listen": "127.0.0.1", "port": 9090,
      "token": "${TOKEN}", "webpath": "office/panel", "username": "admin", "password_hash": "${PASSWORD_HASH}"
    }
  ],
  "outbounds": [
    { "protocol": "socks5", "tag": "tor", "server": "127.0.0.1", "port": 9050 },
    { "protocol": "direct", "tag": "direct" },
    { "protocol": "block", "tag": "block" }
  ],
  "routing": {
    "rules": [{ "domain_suffix": [".onion"], "outbound": "tor" }, { "ip_cidr": ["10.0.0.0/8"], "outbound": "block" }],
    "default_outbound": "direct"
  },
  "dns": { "enabled": true, "doh_upstream": "https://cloudflare-dns.com/dns-query", "adblock_urls": [], "custom_domains": {} }
}
`;

/** The keys of the first. */
export const KEYS = [
  { accessKey: '6f1d2c3b4a5968778695a4b3c2d1e0ff', name: null, limitBytes: null },
  { accessKey: '0c9e8d7f6a5b4c3d2e1f00112233ff44', name: "Anna's laptop", limitBytes: null },
  { accessKey: 'guest-2026', name: 'Guests', limitBytes: 53_687_091_200n },
  { accessKey: 'exact-limit', name: 'Exact', limitBytes: 18_446_744_073_709_551_615n },
] as const;

/** What the keys have moved. */
export const COUNTERS: readonly (readonly [string, bigint, bigint, bigint])[] = [
  ['6f1d2c3b4a5968778695a4b3c2d1e0ff', 18_240_331_021n, 220_018_002_113n, 3n],
  ['0c9e8d7f6a5b4c3d2e1f00112233ff44', 1_881_102_113n, 30_117_002_001n, 1n],
  ['guest-2026', 4_000_000_000n, 45_000_000_000n, 0n],
  ['exact-limit', 9_007_199_254_740_993n, 9_007_199_254_740_995n, 0n],
];
