import { newSecret, withRotation, signingAt, type SigningSecret } from './signing-secrets';

const ROTATED_AT = '2026-11-20T06:18:03.123Z';
const A_DAY_LATER = '2026-11-21T06:18:03.123Z';
const A_MOMENT_BEFORE = '2026-11-21T06:18:03.122Z';

describe('The secrets of a webhook', () => {
  const [oldest, previous, newest] = ['oldest', 'previous', 'newest'];
  const first: readonly SigningSecret[] = [{ secret: previous, until: null }];

  it('sign for a day after they were replaced, the newest first', () => {
    const secrets = withRotation(first, newest, ROTATED_AT);
    expect(signingAt(secrets, ROTATED_AT)).toEqual([newest, previous]);
    expect(signingAt(secrets, A_MOMENT_BEFORE)).toEqual([newest, previous]);
    expect(signingAt(secrets, A_DAY_LATER)).toEqual([newest]);
  });

  it('are two at most: the one before is dropped, even if its day is not over', () => {
    const both = withRotation([{ secret: oldest, until: null }], previous, ROTATED_AT);
    expect(signingAt(withRotation(both, newest, ROTATED_AT), ROTATED_AT)).toEqual([newest, previous]);
  });

  it('are new each time', () => {
    expect(newSecret()).not.toBe(newSecret());
  });
});
