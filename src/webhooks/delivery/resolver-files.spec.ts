import { addressesListed, namesMeant } from './resolver-files';

describe('A file of hosts', () => {
  const HOSTS = [
    '# 10.0.0.1 hooks.example',
    '127.0.0.1\tlocalhost  Hooks.Example # and more',
    '::1 localhost',
    'nonsense hooks.example',
    '10.0.0.2 other.example',
  ].join('\n');

  it('lists the addresses of a name, in any case and without comments', () => {
    expect(addressesListed(HOSTS, 'hooks.example')).toEqual(['127.0.0.1']);
    expect(addressesListed(HOSTS, 'localhost')).toEqual(['127.0.0.1', '::1']);
    expect(addressesListed(HOSTS, 'more')).toEqual([]);
    expect(addressesListed('', 'localhost')).toEqual([]);
  });
});

describe('The configuration of the resolver', () => {
  const CLUSTER = 'nameserver 10.0.0.10\nsearch prod.svc.local svc.local\noptions ndots:5 timeout:2\n';

  it('says what a name may stand for, and in which order', () => {
    expect(namesMeant('', 'hooks.example')).toEqual(['hooks.example']);
    expect(namesMeant('search a b\n', 'hooks')).toEqual(['hooks.a', 'hooks.b', 'hooks']);
    expect(namesMeant('search a\n', 'hooks.dev')).toEqual(['hooks.dev', 'hooks.dev.a']);
    expect(namesMeant('search a\ndomain b # c\n', 'hooks')).toEqual(['hooks.b', 'hooks']);
    expect(namesMeant('search a\n', 'hooks.example.')).toEqual(['hooks.example.']);
    expect(namesMeant('search a. .\n', 'hooks')).toEqual(['hooks.a', 'hooks']);
  });

  it('has a service of a cluster found before a public name that reads the same', () => {
    expect(namesMeant(CLUSTER, 'hooks.dev')).toEqual(['hooks.dev.prod.svc.local', 'hooks.dev.svc.local', 'hooks.dev']);
  });
});
