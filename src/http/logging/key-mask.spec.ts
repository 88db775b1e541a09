import { cutText, maskKeys } from './key-mask';

describe('maskKeys', () => {
  it('masks every occurrence of a key', () => {
    const mask = maskKeys(['the-current-key', 'the-previous-key']);
    expect(mask('{"msg":"the-current-key the-previous-key the-current-key"}')).toBe('{"msg":"[key] [key] [key]"}');
  });

  it('finds a key that contains JSON escapes', () => {
    const key = 'quo"te\\and-more';
    expect(maskKeys([key])(JSON.stringify({ msg: `got ${key}` }))).toBe('{"msg":"got [key]"}');
  });

  it('keeps lines readable if a key is as short as a word', () => {
    expect(maskKeys(['level'])('{"level":"info"}')).toBe('{"level":"info"}');
  });

  describe('knows by their form', () => {
    const key = `agk_01ARZ3NDEKTSV4RRFFQ69G5FAV_${'aB3_-'.repeat(8)}xyz`;
    const token = `${['{"alg":"ES256"}', '{"sub":"bot"}'].map((part) => Buffer.from(part).toString('base64url')).join('.')}.sig-_1`;
    const spaced = `${[' { "alg": "ES256" }', '{"sub":"some-bot"}'].map((part) => Buffer.from(part).toString('base64url')).join('.')}.${'sig-_1'.repeat(12)}`;
    const encode = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const mask = maskKeys([]);

    it.each([
      ['an issued key', key],
      ['a token', token],
      ['a token whose header begins otherwise', spaced],
    ])('%s', (_, secret) => {
      const logged = (text: string): string => mask(JSON.stringify({ msg: text }));
      expect(logged(`got ${secret}, and ${secret}`)).toBe('{"msg":"got [key], and [key]"}');
      expect(logged(`a\n${secret}`)).toBe('{"msg":"a\\n[key]"}');
      expect(logged(`/é/${secret}/b?key=${secret}`)).toBe('{"msg":"/é/[key]/b?key=[key]"}');
      for (const text of [encode(secret), encode(encode(secret)), `Bearer%20${secret}`])
        expect(logged(text)).toBe('{"msg":"[key]"}');
      expect(logged(cutText(`x ${secret}`, secret.length - 1))).toMatch(/^\{"msg":"x \[key\]…"\}$/);
    });

    it('except for the prefix of a key, or a word with a dot', () => {
      const line = JSON.stringify({
        msg: 'agk_01ARZ3NDEKTSV4RRFFQ69G5FAV keyJar.open eyJ governance-service.internal-network.example.com',
      });
      expect(mask(line)).toBe(line);
    });

    it('in time that grows with the line alone', () => {
      for (const text of ['eyJ', 'eyJ.', 'eyJ-', 'a.', `${'a'.repeat(16)}.`, 'agk_', key.slice(0, 31)])
        expect(mask(text.repeat(300_000 / text.length)).length).toBeGreaterThan(0);
    });
  });

  describe('finds a key that is percent-encoded', () => {
    const key = 'ab"cdef%41-ü';
    const encode = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const logged = (text: string): string => maskKeys([key])(JSON.stringify({ path: `/é/${text}/b`, msg: 'é' }));
    const masked = '{"path":"[key]","msg":"é"}';

    it.each([
      ['whole', encode(key)],
      ['in capitals', encode(key).toUpperCase()],
      ['in one character', key.replace('c', '%63')],
      ['in half of a character', key.replace('ü', '%C3%bc')],
      ['where JSON escapes', key.replace('"', '%22')],
      ['in what looks encoded', key.replace('%', '%25')],
      ['twice', encode(encode(key))],
      ['twice in its digits alone', key.replace('c', '%%36%33')],
      ['eight times', key.replace('c', `%${'25'.repeat(7)}63`)],
      ['differently often', key.replace('c', '%2563').replace('d', '%64').replace('e', '%252565')],
    ])('%s', (_, text) => expect(logged(text)).toBe(masked));

    it('after the last digit of another encoded character', () => {
      expect(logged(`%${encode(key)}`)).toBe(masked);
    });

    it('and hides a text that is encoded excessively often', () => {
      expect(logged(key.replace('c', `%${'25'.repeat(8)}63`))).toBe(masked);
    });

    it('and leaves everything else unchanged', () => {
      const text = 'a%20b%2520%zz%C3%A9%e9"\\\u0001';
      expect(logged(text)).toBe(JSON.stringify({ path: `/é/${text}/b`, msg: 'é' }));
    });
  });

  describe('finds what is left of a key where a text was cut', () => {
    const key = 'ab"cdef%41-ü-the-end';
    const encode = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const mask = maskKeys([key, 'another-key']);

    it.each([
      ['as it is', key],
      ['encoded', encode(key)],
      ['encoded twice', encode(encode(key))],
      ['encoded twice in its digits alone', encode(key).replace(/%(..)/g, (_, digits: string) => `%${encode(digits)}`)],
      ['encoded eight times in part', key.replaceAll('e', `%${'25'.repeat(7)}65`)],
      ['encoded in part', key.replace('c', '%63').replace('-', '%2d')],
    ])('%s', (_, form) => {
      for (let length = 0; length < form.length; length += 1) {
        const line = JSON.stringify({ path: cutText(`/x/${form}/y`, 3 + length), msg: 'é' });
        expect(decoded(JSON.parse(mask(line)).path)).not.toContain(key.slice(0, 4));
      }
    });

    it('and leaves other truncated text unchanged', () => {
      for (const path of ['/the/end%', '/the/e%6', '/the/end', '/the/ab', '/ü%20%zz%%']) {
        const line = JSON.stringify({ path: `${path}…`, msg: '…' });
        expect(mask(line)).toBe(line);
      }
    });

    function decoded(text: string): string {
      const once = text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
      return once === text ? text : decoded(once);
    }
  });
});
