import { countedClient, unmapAddress } from './ip-address';

describe('countedClient', () => {
  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0000:0000:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s counts as %s', (address, counted) => {
    expect(countedClient(address)).toBe(counted);
  });
});

describe('unmapAddress', () => {
  it.each([
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['::FFFF:198.51.100.1', '198.51.100.1'],
    ['::ffff:c633:6401', '198.51.100.1'],
    ['0:0:0:0:0:ffff:c633:6401', '198.51.100.1'],
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8::c633:6401', '2001:db8::c633:6401'],
    ['', ''],
  ])('%s is %s', (address, plain) => {
    expect(unmapAddress(address)).toBe(plain);
  });
});
