import { isRefusedAddress } from './webhook-url';

/** The first and the last address of each refused network, and some others that are refused. */
const REFUSED = [
  '0.0.0.0',
  '0.255.255.255',
  '10.0.0.0',
  '10.255.255.255',
  '100.64.0.0',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.0.0',
  '169.254.169.254',
  '169.254.255.255',
  '172.16.0.0',
  '172.31.255.255',
  '192.0.0.0',
  '192.0.0.192',
  '192.0.0.255',
  '192.168.0.0',
  '192.168.255.255',
  '198.18.0.0',
  '198.19.255.255',
  '168.63.129.16',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.0',
  '255.255.255.255',
  '::',
  '::1',
  'fc00::',
  'fdff:ffff::1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff02::1',
  '64:ff9b:1::1',
  'fe80::1%eth0',
];
/** Addresses adjacent to a refused network. */
const PUBLIC = [
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:4860:4860::8888',
  '2606:4700::1111',
  'fbff::1',
  '64:ff9a::1',
];
/** Forms of IPv6 that embed an IPv4 address, which is given as four numbers. */
const FORMS: readonly (readonly [name: string, form: (hex: string, dotted: string) => string])[] = [
  ['compatible', (_, dotted) => `::${dotted}`],
  ['mapped', (_, dotted) => `::ffff:${dotted}`],
  ['mapped, written out', (hex) => `0:0:0:0:0:ffff:${hex}`],
  ['translated', (_, dotted) => `::ffff:0:${dotted}`],
  ['NAT64', (hex) => `64:ff9b::${hex}`],
  ['6to4', (hex) => `2002:${hex}::1`],
  ['the server of Teredo', (hex) => `2001:0:${hex}:0:0:a247:27dd`],
  ['ISATAP', (hex) => `2606:4700::5efe:${hex}`],
  ['ISATAP, global', (hex) => `2606:4700::200:5efe:${hex}`],
];

function hexOf(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

describe('isRefusedAddress', () => {
  it.each(REFUSED)('refuses %s', (address) => {
    expect(isRefusedAddress(address)).toBe(true);
  });

  it.each(PUBLIC)('lets %s pass', (address) => {
    expect(isRefusedAddress(address)).toBe(false);
  });

  it.each(FORMS)('looks into IPv6 that holds IPv4: %s', (_, form) => {
    for (const refused of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.0.1', '168.63.129.16']) {
      expect([refused, isRefusedAddress(form(hexOf(refused), refused))]).toEqual([refused, true]);
    }
    expect(isRefusedAddress(form(hexOf('93.184.216.34'), '93.184.216.34'))).toBe(false);
  });

  it('looks at the client of Teredo, which stands in the complement', () => {
    const server = hexOf('93.184.216.34');
    const complement = (dotted: string): string =>
      hexOf(
        dotted
          .split('.')
          .map((part) => 255 - Number(part))
          .join('.'),
      );
    expect(isRefusedAddress(`2001:0:${server}:0:0:${complement('10.0.0.1')}`)).toBe(true);
    expect(isRefusedAddress(`2001:0:${server}:0:0:${complement('93.184.216.34')}`)).toBe(false);
  });

  it.each(['', 'localhost', '1.2.3', '0x7f.1', '2130706433', '127.0.0.1:80', '[::1]', '1.2.3.4/8'])(
    'refuses what is not an address: "%s"',
    (text) => {
      expect(isRefusedAddress(text)).toBe(true);
    },
  );
});
