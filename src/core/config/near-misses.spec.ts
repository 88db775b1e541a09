import { nearMissWarnings } from './read-configuration';
import { VARIABLES } from './variables/variables';

const NAMES = Object.values(VARIABLES).map(({ name }) => name);

describe('A variable that nobody reads', () => {
  it.each([
    ['RATELIMIT', 'RATE_LIMIT'],
    ['rate_limit', 'RATE_LIMIT'],
    ['RATE-LIMIT', 'RATE_LIMIT'],
    ['RATE_LIMITS', 'RATE_LIMIT'],
    ['RATE_LMIT', 'RATE_LIMIT'],
    ['RATE_LIMTI', 'RATE_LIMIT'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATBASE_URL', 'DATABASE_URL'],
    ['API_KEY_PREVIUOS', 'API_KEY_PREVIOUS'],
    ['APIKEY', 'API_KEY'],
  ])('is warned of where it nearly is one that is read: %s', (name, expected) => {
    expect(nearMissWarnings({ [name]: '5' }, NAMES)).toEqual([
      `${name} is set, but nothing reads it. Did you mean ${expected}?`,
    ]);
  });

  it.each(['PATH', 'HOSTNAME', 'Host', 'PORTS', 'RATE', 'LIMIT', 'MY_RATE_LIMIT', 'DATABASE', 'npm_config_loglevel'])(
    'is left alone: %s',
    (name) => {
      expect(nearMissWarnings({ [name]: '5' }, NAMES)).toEqual([]);
    },
  );

  it('causes no warning if it is empty, nor does a variable that is read', () => {
    expect(nearMissWarnings({ RATELIMIT: '', RATE_LIMIT: '5' }, NAMES)).toEqual([]);
    const all = Object.fromEntries(NAMES.map((name) => [name, 'x']));
    expect(nearMissWarnings(all, NAMES)).toEqual([]);
  });

  it('is also compared with the settings of modules', () => {
    expect(nearMissWarnings({ INCIDENTS_MOST: '5' }, [...NAMES, 'INCIDENT_MOST'])).toHaveLength(1);
  });
});
