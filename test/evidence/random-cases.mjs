/**
 * Random policies, agents and requests, dense enough that most requests meet several policies. The same seed makes
 * the same ones.
 */

const ACTIONS = ['read', 'read-file', 'read-mail', 'send', 'send-mail', 'pay', 'github.push', 'github.pull', 'löschen'];
const ACTION_PATTERNS = [...ACTIONS, '*', '*', 'read*', 'read-*', 'send-*', 'github.*', 'l*', 'x*'];
const ROLES = ['ops', 'finance', 'Finance', 'on call', 'prüfung', 'nobody'];
const NAMES = ['bot', 'Bot', 'mail bot', 'büro', 'team:x', 'ops'];
const TYPES = ['doc', 'docs', 'a b', 'a%20b', 'é', 'https'];
const SEGMENTS = [
  ...[
    'a',
    'b',
    'ab',
    'A',
    'docs',
    'doc',
    'a b',
    'a%20b',
    'é',
    'e\u0301',
    '%C3%A9',
    '50% off',
    'a+b',
    '*',
    'x*',
    'a%2Ab',
    'a*b',
  ],
  ...['100%25', '100%', 'q', '%25', 'a&b', 'a:b', '7', '%41%CC%81', '%E2%84%AA%CC%81'],
];
const URLS = [
  ...['https://h/a', 'https://h/a/b', 'https://h/ab', 'https://h2/a', 'http://h/a', 'https://h:8443/a', 'file:///a/b'],
  ...['https://h/a%20b', 'https://h/a b', 'custom://h/a', 'https://127.0.0.1/a', 'https://[::1]/a', 'https://h/docs/a'],
];
const NAMES_ALONE = ['What is this?', 'a#b', 'a;b', 'https:a', 'summary', 'a', '+', '7', 'é', '%3F', 'a%23b'];
const PARAMETERS = [
  '/amount',
  '/to',
  '/path',
  '/tags/*',
  '/items/*/path',
  '/items/*/amount',
  '/items/0/amount',
  '/a~1b',
  '/m~0n',
  '/*',
  '/nested/deep',
  '/token',
  '/token/$secret',
  '/token/deep',
  '/text/$hmac',
  '/text/bytes',
  '/text/deep',
];
const SCALARS = [0, -1, 1, 10, 50, 50.5, 1e21, '', 'a', 'ab', '10', 'DE', true, false, null, 'é', 'e\u0301'];
/** Values that a principal or a resource can be compared with, too. */
const COMPOSED = [...SCALARS, 'alice', 'user', 'team', 'agent', '7'].filter((value) => value !== 'e\u0301');
const PARTS = [{ principal: 'id' }, { principal: 'type' }, { resource: 'last' }];
const PATHS = [
  ...[
    '/srv/public',
    '/srv',
    'srv/public',
    '/srv/public/a b',
    'https://h/a',
    'https://h',
    '/srv/public/a%20b',
    'file:///srv',
    '/é',
  ],
  ...['https://h:8443', 'http://example.com/x/y'],
];
const TEXTS = [
  ...PATHS,
  ...[
    '/srv/public/x',
    '/srv/public/../secret',
    '/srv/public/',
    '/srv/publicity',
    'srv/public/x/y',
    '/srv//public',
    '/srv/public/.',
  ],
  ...[
    '/srv/public/%2e%2e/x',
    '/srv/public/a%2Fb',
    '/srv/public/a\\b',
    '/srv/public/．．',
    '/srv/public/a?b',
    '/srv/public/a#b',
  ],
  ...[
    '/srv/public/a;b',
    '/srv/public/ a',
    '/srv/public/a\u200bb',
    '/srv/public/%41',
    '/srv/public/%41%CC%81',
    '/srv/public/%CD%BE',
    '/srv/public/%FF',
    '/srv/public/%u002e',
    '',
  ],
  ...[
    '/',
    '/srv/public/a%20b/c',
    '/srv/public/50% off',
    'https://h/a/b',
    'https://h/',
    'https://H/a/b',
    'https://h/a?b',
    'https://u@h/a/b',
  ],
  ...[
    'https://h:443/a/b',
    'https://h./a/b',
    'HTTPS://h/a/b',
    'https://h/a/../b',
    'https://h/a/b#c',
    'http://h/a/b',
    'https://h',
    'https://h:8443/a',
  ],
  ...[
    '//srv/public',
    '/srv/public/%2520',
    '/srv/public/K',
    '/e\u0301/x',
    '/é/x',
    'file:///srv/x',
    'file://h/srv',
    'mailto:a/b',
    '/srv/public/*',
  ],
  ...[
    'https://hé/a',
    'https://xn--h-bga/a',
    'https://127.1/a',
    'https://h/%61',
    'https://h/a//b',
    'custom://h/a',
    'http://example.com/x/y/z',
  ],
  ...[
    'http://example.com/x/y%3Fz',
    '/srv/public/a:b',
    'srv:/public',
    '/srv/public/%E2%84%AA',
    '/srv/public/%C0%AF',
    '/srv/public/\t',
    ' /srv/public',
  ],
  ...[
    `/srv/public/${'a/'.repeat(61)}a`,
    `/srv/public/${'a/'.repeat(62)}a`,
    `/srv/public/${'a'.repeat(600)}`,
    '?',
    'a?',
    '/a?',
    'a/b?c',
  ],
];
const DOMAINS = ['acme.example', 'example', 'eu.acme.example', 'xn--bcher-kva.example', 'localhost', 'h', 'a'];
/** Hosts, and what could be taken for one. */
const HOSTS = [
  ...[
    'acme.example',
    'ACME.example',
    'eu.acme.example',
    'evil-acme.example',
    'acme.example.',
    'acme..example',
    '.acme.example',
  ],
  ...[
    'ann@acme.example',
    'ann@EU.Acme.Example',
    'ann@evil-acme.example',
    'ann@acme.example.evil',
    'a b@acme.example',
    '@acme.example',
  ],
  ...[
    '"ann"@acme.example',
    'ann@evil@acme.example',
    'ann＠evil.example@acme.example',
    'ann,bob@acme.example',
    '<ann@acme.example>',
    'evil.example/ann@acme.example',
    'evil.example?@acme.example',
    'evil.example:a@acme.example',
    'evil.example／@acme.example',
    'ann@acme.example:25',
    'ann(evil)@acme.example',
  ],
  ...[
    'ann@bücher.example',
    'ann@xn--bcher-kva.example',
    'ann@BÜCHER.example',
    'ann@straße.example',
    'straße@acme.example',
    'ann@acme。example',
    'ann@ａcme.example',
    'ann@acme.example\n',
  ],
  ...[
    'https://acme.example',
    'https://acme.example/',
    'https://acme.example/a',
    'https://acme.example?a=b',
    'https://acme.example/a?b#c',
  ],
  ...[
    'https://acme.example?@evil',
    'https://acme.example#\\@evil',
    'https://evil@acme.example/',
    'https://acme.example:8443/a',
    'https://acme.example:443/',
  ],
  ...[
    'https://acme.example/a/../b',
    'https://acme.example/a//b',
    'https://acme.example\\@evil/',
    'custom://acme.example',
    'custom://ACME.example/a',
  ],
  ...[
    'file:///acme.example',
    'https://[::1]/',
    'https://127.0.0.1/',
    '127.0.0.1',
    '0x7f.1',
    '1',
    'acme.1',
    'ann@[127.0.0.1]',
    'acme.example:80',
    '//acme.example',
  ],
  ...[
    'acme_b.example',
    '-a.example',
    'a-.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(125)}example`,
    'xn--a.example',
    'a\u00adcme.example',
  ],
  ...[
    'straße.example',
    'a%63me.example',
    'acme.example%00',
    'acme.example/a',
    'localhost',
    'ann@localhost',
    'http://h',
    'ann@a',
    'https://h/a;b',
  ],
];
const DATES = ['2026-11-27', '2026-11-28', '2027-01-01'];
/** The days around now. */
const NEAR_DATES = [-1, 0, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Asia/Kathmandu',
];
const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const DURATIONS = ['PT30M', 'PT1800S', 'PT1H', 'PT60M', 'P1D', 'PT24H', 'P1W', 'P7D', 'P2D', 'PT1H30M', 'P1DT1H'];

/** Members of policies that meet one another. */
const HEAVY = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [], conditions: [], priority: 3 };

/** @param {number} seed */
export function randomCases(seed) {
  let state = seed >>> 0;
  /** mulberry32 */
  function random() {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (/** @type {number} */ most) => Math.floor(random() * most);
  const chance = (/** @type {number} */ share) => random() < share;
  /** @template Item @param {readonly Item[]} items @returns {Item} */
  const one = (items) => /** @type {Item} */ (items[below(items.length)]);
  /** @template Item @param {() => Item} make @param {number} least @param {number} most */
  const some = (make, least, most) => Array.from({ length: least + below(most - least + 1) }, make);
  /** @template Item @param {readonly Item[]} items */
  const distinct = (items) => [...new Set(items)];

  function path() {
    return some(() => one(SEGMENTS), 2, 3).join('/');
  }

  function resourceId() {
    if (chance(0.12)) return one(URLS);
    if (chance(0.2)) return one(NAMES_ALONE);
    return `${chance(0.2) ? '/' : ''}${chance(0.5) ? one(SEGMENTS) : path()}`;
  }

  function resourcePattern() {
    if (chance(0.3)) return one(['*', '/*']);
    if (chance(0.12))
      return chance(0.5)
        ? one(URLS)
        : one(['https://h/*', 'https://h/a/*', 'file:///*', 'custom://h/*', 'https://h:8443/*']);
    const text = chance(0.15) ? one(NAMES_ALONE) : `${chance(0.2) ? '/' : ''}${chance(0.4) ? one(SEGMENTS) : path()}`;
    const plain = text.replaceAll('*', 'z');
    return chance(0.45) && !/[?#;:]|%3F|%23/u.test(plain) ? `${plain}/*` : plain;
  }

  function subject() {
    return one([
      ...['*', 'agent:*', 'kind:human', 'kind:machine', 'role:*', 'user:alice', 'user:*', 'agent:nobody'],
      ...[
        `role:${one(ROLES)}`,
        `role:${one(ROLES)}`,
        `agent:${one(NAMES)}`,
        one(NAMES),
        `agent:${one(agents).id}`,
        one(agents).id,
      ],
      ...['büro'.normalize('NFD'), 'agent:büro', 'agent: bot', 'role: ops'],
    ]);
  }

  function condition() {
    if (chance(0.12)) {
      const days = chance(0.5) ? { days: distinct(some(() => one(WEEK), 1, 5)) } : {};
      const except = chance(0.4) ? { except: distinct(some(() => one([...DATES, ...NEAR_DATES]), 1, 3)) } : {};
      return { clock: one(ZONES), ...days, ...except, op: 'between', value: ends() };
    }
    if (chance(0.2)) {
      const op = one(['eq', 'eq', 'ne', 'in', 'not_in', 'domain', 'exists']);
      return { ...one(PARTS), op, value: valueOf(op) };
    }
    const parameter = one(PARAMETERS);
    const op = one([
      'eq',
      'ne',
      'in',
      'not_in',
      'lt',
      'lte',
      'gt',
      'gte',
      'prefix',
      'exists',
      'within',
      'within',
      'domain',
      'domain',
    ]);
    if (op === 'exists' && parameter.includes('*'))
      return { parameter: one(['/amount', '/token', '/token/deep']), op, value: chance(0.5) };
    return { parameter, op, value: valueOf(op) };
  }

  function ends() {
    const time = () => `${String(below(24)).padStart(2, '0')}:${one(['00', '30', '59', '07'])}`;
    const [from, to] = [time(), chance(0.1) ? '24:00' : time()];
    return from === to ? ['00:00', '24:00'] : [from, to];
  }

  /** @param {string} op */
  function valueOf(op) {
    if (op === 'exists') return chance(0.5);
    if (op === 'domain') return distinct(some(() => one(DOMAINS), 1, 3));
    if (op === 'within') return one(PATHS);
    if (op === 'prefix') return one(['a', 'D', '/srv/', 'https://h/', '1', 'é']);
    if (op === 'in' || op === 'not_in') return distinct(some(() => one(COMPOSED), 1, 4));
    if (['eq', 'ne'].includes(op) && chance(0.2)) return one(PARTS);
    if (chance(0.15)) return { parameter: one(['/due', '/amount', '/nested/deep', '/to']) };
    return ['eq', 'ne'].includes(op) ? one(COMPOSED) : one([0, 1, 10, 50, 50.5, -5, 1e21]);
  }

  function group() {
    return { subjects: distinct(some(subject, 1, 3)), approvals: 1 + below(chance(0.1) ? 10 : 3), signed: chance(0.2) };
  }

  function largeGroup() {
    return { subjects: [`role:${below(1_000)}`], approvals: 10 };
  }

  function principalPattern() {
    const { id, name } = one(people());
    return one([
      '*',
      'agent:*',
      'user:*',
      'user:alice',
      'team:*',
      `role:${one(ROLES)}`,
      `agent:${id}`,
      `agent:${name}`,
    ]);
  }

  function people() {
    return agents.filter(({ kind }) => kind === 'human');
  }

  function principal() {
    if (chance(0.4)) return { subject: `agent:${chance(0.5) ? one(people()).id : one(people()).name}` };
    const roles = distinct(some(() => one(ROLES), 0, 2));
    const subject = one([
      ...['user:alice', 'user:bob', 'team:x', 'team:büro'.normalize('NFD'), 'user:a', 'user:7', 'user:a:b'],
      ...['mail:ann@acme.example', 'mail:ann@evil-acme.example'],
    ]);
    return { subject, roles };
  }

  /**
   * @param {number} index
   * @param {string} version
   * @param {boolean} isHeavy whether it requires many approvals of many requests
   */
  function policy(index, version, isHeavy) {
    const effect = isHeavy
      ? 'require_approval'
      : one(['allow', 'allow', 'allow', 'deny', 'require_approval', 'require_approval', 'require_approval']);
    const approval = {
      riskLevel: one(['low', 'medium', 'high', 'critical']),
      decideWithin: one(DURATIONS),
      executeWithin: one(DURATIONS),
      ...(chance(0.9) ? { approvers: isHeavy ? some(largeGroup, 6, 10) : some(group, 1, 3) } : {}),
    };
    return {
      ...{
        name: `policy-${index}`,
        version,
        effect,
        priority: effect === 'deny' ? one([0, 0, -1, -1, -5, 1]) : one([0, 0, 0, 1, 1, -1, 5]),
      },
      subjects: distinct(some(subject, 1, 2)),
      actions: distinct(some(() => one(ACTION_PATTERNS), 1, 2)),
      resources: distinct(some(resourcePattern, 1, 3)),
      resourceTypes: chance(0.25) ? distinct(some(() => one(TYPES), 1, 3)) : [],
      conditions: chance(0.7) ? some(condition, 1, effect === 'allow' ? 2 : 4) : [],
      ...(chance(0.2) ? { onBehalfOf: distinct(some(principalPattern, 1, 2)) } : {}),
      ...(effect === 'require_approval' && chance(0.95) ? { approval } : {}),
      ...(isHeavy ? HEAVY : {}),
    };
  }

  function parameters() {
    const value = () =>
      chance(0.03)
        ? 'x'.repeat(one([4_096, 4_097]))
        : chance(0.4)
          ? one(TEXTS)
          : chance(0.1)
            ? one([[], {}, [1], { x: 1 }])
            : one(SCALARS);
    const member = (/** @type {string} */ name, /** @type {() => unknown} */ make) =>
      chance(0.7) ? { [name]: make() } : {};
    const item = () =>
      chance(0.1) ? one([1, 'x', null, []]) : { ...member('path', () => one(TEXTS)), ...member('amount', value) };
    return {
      ...member('amount', () => (chance(0.7) ? one([0, 1, 10, 50, 50.5, 51, -5, 1e21]) : value())),
      ...member('due', () => one([0, 10, 50, '10', null, {}])),
      ...member('to', () => (chance(0.6) ? one(HOSTS) : value())),
      ...member('path', () => one(TEXTS)),
      ...member('tags', () =>
        chance(0.8) ? some(() => (chance(0.3) ? one(HOSTS) : one(SCALARS)), 0, 3) : one(['a', {}, { '*': 'a' }, 1]),
      ),
      ...member('items', () =>
        chance(0.9) ? some(item, 0, 3) : one([{ '*': { path: '/srv/x', amount: 1 } }, 'x', {}]),
      ),
      ...member('a/b', value),
      ...member('m~n', value),
      ...member('*', value),
      ...member('nested', () => (chance(0.8) ? { deep: value() } : value())),
      ...(chance(0.3) ? { token: chance(0.3) ? { deep: value() } : value() } : {}),
      ...(chance(0.3) ? { text: chance(0.8) ? { $sha256: 'ab', bytes: below(60) } : value() } : {}),
    };
  }

  function request() {
    const asker = chance(0.8)
      ? { agent: one(agents).id }
      : {
          subject: {
            ...(chance(0.6) ? { name: one(NAMES) } : {}),
            roles: distinct(some(() => one(ROLES), 0, 2)),
            kind: one(['human', 'machine']),
          },
        };
    return {
      ...asker,
      ...(chance(0.4) ? { onBehalfOf: principal() } : {}),
      action: one(ACTIONS),
      resourceType: one(TYPES),
      resourceId: resourceId(),
      parameters: parameters(),
    };
  }

  /** To be registered, before anything else is asked for. */
  function agentBodies() {
    return [...NAMES, 'idle', 'another', 'last', 'person'].map((name, index) => ({
      name,
      kind: index % 3 === 0 ? 'human' : 'machine',
      roles: distinct(some(() => one(ROLES), 0, 3)),
      capabilities: chance(0.5) ? ['*'] : distinct(some(() => one(ACTION_PATTERNS), 1, 5)),
    }));
  }

  /** The agents as they were registered. @type {{ id: string }[]} */
  let agents = [{ id: 'agt_none' }];
  return {
    agentBodies,
    /** @param {{ id: string }[]} registered */
    know(registered) {
      agents = registered;
    },
    policies(/** @type {string} */ version) {
      const isHeavySet = chance(0.15);
      return Array.from({ length: 5 + below(30) }, (_, index) => policy(index, version, isHeavySet && index < 3));
    },
    requests: (/** @type {number} */ count) => Array.from({ length: count }, request),
  };
}
