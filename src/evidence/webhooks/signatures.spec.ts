import { createHmac } from 'node:crypto';
import { signatures } from './signing-secrets';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const CONTENT = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  body: Buffer.from('{"test": 2432232314}'),
};

describe('signatures', () => {
  it('are those that the libraries of Standard Webhooks expect', () => {
    expect(signatures([SECRET], CONTENT)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('are one for each secret, in their order', () => {
    const other = `whsec_${Buffer.from('another secret').toString('base64')}`;
    const [first, second, ...more] = signatures([other, SECRET], CONTENT).split(' ');
    expect([second, more]).toEqual(['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', []]);
    expect(first).toMatch(/^v1,[\w+/]{43}=$/);
    expect(first).not.toBe(second);
  });

  it('cover the bytes of the body, whatever they are', () => {
    const body = Buffer.from([0xff, 0x00, 0x2e, 0xfe]);
    const signed = Buffer.concat([Buffer.from(`${CONTENT.id}.${CONTENT.timestamp}.`), body]);
    const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', key).update(signed).digest('base64');
    expect(signatures([SECRET], { ...CONTENT, body })).toBe(`v1,${expected}`);
  });
});
