import {
  listOf,
  MAX_TIME_MS,
  matchRule,
  oneOf,
  optional,
  parseList,
  parseWholeNumber,
  trueOrFalse,
  type VariableTable,
  wholeNumber,
  maskApiKey,
} from './variable';
import { exactLabelFault, labelFault } from '../../values/label-fault';
import { parseDuration } from '../../values/duration';
import { parseSeed } from '../../signed-notes/signed-note';
import { p256Key, parseP256PublicKey } from '../../values/p256-key';
import { isPostgresUrl } from './database-url';
import { parseSecretPointer, USUAL_SECRET_POINTERS } from '../../values/secret-pointers';

export const POLICY_DEFAULT_EFFECTS = ['allow', 'deny'] as const;
export type PolicyDefaultEffect = (typeof POLICY_DEFAULT_EFFECTS)[number];

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** The approvals that a decision of each risk level needs. */
export type RequiredApprovals = Readonly<Record<RiskLevel, number>>;

/** One day. */
const MIN_CONTENT_RETENTION_MS = 86_400_000;
/** Ten years. */
const MAX_RETENTION_MS = 3650 * 86_400_000;

const AUDIENCE = /^[\x21-\x2b\x2d-\x7e]{1,200}$/;
/** One week. */
const MAX_CHANGE_MS = 7 * 86_400_000;
/** One hour, the maximum validity of a permit. */
const MAX_PERMIT_MS = 3_600_000;

/** Parses a retention period into milliseconds; undefined if the text is not one. */
function parseRetention(text: string, shortest = 0): number | undefined {
  const milliseconds = text === 'PT0S' ? 0 : parseDuration(text, MAX_RETENTION_MS);
  return milliseconds === undefined || milliseconds < shortest ? undefined : milliseconds;
}

/** Returns a fault if contents would be erased before the time for which they must be kept. */
function retentionContradiction(content: string, atLeast: string): string | undefined {
  const [retained, minimum] = [parseRetention(content), parseRetention(atLeast)];
  if (retained === undefined || minimum === undefined || retained >= minimum) return undefined;
  return `which is shorter than RETAIN_AT_LEAST=${atLeast}; make RETAIN_CONTENT at least as long, or shorten RETAIN_AT_LEAST`;
}

const MAX_SECRET_PARAMETERS = 100;

/** Parses pointers to secrets; the word `none` means an empty list. */
function parseSecretParameters(text: string): string[] | undefined {
  if (text === 'none') return [];
  const pointers = parseList(text, parseSecretPointer);
  return pointers !== undefined && pointers.length <= MAX_SECRET_PARAMETERS ? pointers : undefined;
}

/** Parses JSON; undefined if the text is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object that maps groups to roles; undefined if the text is not one. */
function parseDirectoryRoles(text: string): Readonly<Record<string, readonly string[]>> | undefined {
  const value = jsonIn(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const groups = Object.entries(value as Readonly<Record<string, unknown>>);
  const isValid = groups.every(([group, roles]) => labelFault(group) === undefined && areRoles(roles));
  return isValid && groups.length <= 1000 ? (value as Readonly<Record<string, readonly string[]>>) : undefined;
}

function areRoles(roles: unknown): boolean {
  if (!Array.isArray(roles) || roles.length === 0 || roles.length > 50) return false;
  return roles.every(
    (role) => typeof role === 'string' && role !== '' && role.length <= 100 && exactLabelFault(role) === undefined,
  );
}

/** Settings for what agents may do and for permits: rows of `VARIABLES` in a file of their own. */
export const GOVERNANCE_VARIABLES = {
  policyDefaultEffect: {
    name: 'POLICY_DEFAULT_EFFECT',
    description: 'Whether an action that no policy matches is allowed or denied.',
    default: 'deny',
    ...oneOf(POLICY_DEFAULT_EFFECTS),
  },
  maxPolicies: {
    name: 'MAX_POLICIES',
    description: 'Policies that may be in force at a time.',
    default: '10000',
    ...wholeNumber(1, 1_000_000),
  },
  maxPolicyText: {
    name: 'MAX_POLICY_TEXT',
    description: 'Bytes of the patterns of all policies in force together; they are held in memory.',
    default: '33554432',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  teamPriority: {
    name: 'TEAM_PRIORITY',
    description: 'The priority below which those of the policies of teams must be.',
    default: '1000',
    ...wholeNumber(0, 2 ** 31 - 1),
  },
  planTimeout: {
    name: 'PLAN_TIMEOUT',
    description: 'Milliseconds that a plan may spend looking for changes; beyond that, it says that it is incomplete.',
    default: '10000',
    ...wholeNumber(1, 600_000),
  },
  replayLimit: {
    name: 'REPLAY_LIMIT',
    description: 'Most recorded executions, newest first, that a plan with `replay` evaluates again.',
    default: '100000',
    ...wholeNumber(1, 10_000_000),
  },
  retainAtLeast: {
    name: 'RETAIN_AT_LEAST',
    description: 'How old the last entry about a record must be before the record can be erased; PT0S: any age.',
    default: 'P1D',
    example: 'P183D',
    expected: 'PT0S, or an ISO 8601 duration of at most P3650D',
    parse: (text) => parseRetention(text),
  },
  retainContent: {
    name: 'RETAIN_CONTENT',
    description:
      'How long executions and decisions keep their contents after their last entry; then the service erases them. Unset: for ever.',
    example: 'P730D',
    ...optional('an ISO 8601 duration from P1D to P3650D', (text) => parseRetention(text, MIN_CONTENT_RETENTION_MS)),
    contradiction: (text, environment) => retentionContradiction(text, environment['RETAIN_AT_LEAST'] ?? ''),
  },
  secretParameters: {
    name: 'SECRET_PARAMETERS',
    description:
      'JSON Pointers to the values in parameters and results that are never kept, such as /**/password; none: all are kept.',
    default: USUAL_SECRET_POINTERS.join(','),
    expected: `up to ${MAX_SECRET_PARAMETERS} JSON Pointers separated by commas, with * for one name and ** for any number of names; or none`,
    example: '/**/password,/card/number',
    parse: parseSecretParameters,
  },
  /** Key of the hashes that replace secrets; never show it. Null if the service generates and stores one. */
  secretKey: {
    name: 'SECRET_KEY',
    description:
      'Key with which secrets are replaced: 32 random bytes. Unset: one is generated at the first start and kept in a file.',
    // With keys of their own, replicas would not recognise the secrets that others recorded.
    requiredWith: ({ DATABASE_URL = '' }) =>
      isPostgresUrl(DATABASE_URL) ? 'although the database is PostgreSQL' : undefined,
    example: '$(openssl rand -base64 32)',
    mask: maskApiKey,
    ...optional('32 bytes in standard base64, the same for all processes on one database', parseSeed),
  },
  acceptedSecretKey: {
    name: 'ACCEPT_SECRET_KEY',
    description: 'Name of a SECRET_KEY that is another than before, to accept it; as shown when the start is refused.',
    example: '9b1f0c6e8d2a4f71',
    ...optional('the name of a key: 16 hex digits', matchRule(/^[0-9a-f]{16}$/)),
  },
  maxPendingApprovals: {
    name: 'MAX_PENDING_APPROVALS',
    description: 'Executions of one agent that may wait for approval at a time.',
    default: '100',
    ...wholeNumber(1, 1_000_000),
  },
  maxWaiting: {
    name: 'MAX_WAITING',
    description: 'Requests with `wait` that may wait at a time; further ones are answered at once.',
    default: '1000',
    ...wholeNumber(0, 1_000_000),
  },
  maxEventStreams: {
    name: 'MAX_EVENT_STREAMS',
    description: 'Streams of events that may be open at a time; further ones are refused with 503.',
    default: '200',
    ...wholeNumber(0, 1_000_000),
  },
  webhookAllowHttp: {
    name: 'WEBHOOK_ALLOW_HTTP',
    description: 'Whether webhooks may be delivered over plain HTTP.',
    default: 'false',
    example: 'true',
    ...trueOrFalse(),
  },
  webhookAllowPrivate: {
    name: 'WEBHOOK_ALLOW_PRIVATE',
    description: 'Whether webhooks may be delivered to private and other special addresses.',
    default: 'false',
    example: 'true',
    ...trueOrFalse(),
  },
  allowSelfApproval: {
    name: 'ALLOW_SELF_APPROVAL',
    description: 'Whether an agent may approve a decision that it proposed itself.',
    default: 'false',
    ...trueOrFalse(),
  },
  requireBoundReviewers: {
    name: 'REQUIRE_BOUND_REVIEWERS',
    description: 'Whether only keys and tokens that are bound to an agent may approve and reject decisions.',
    default: 'false',
    example: 'true',
    ...trueOrFalse(),
  },
  requiredApprovals: {
    name: 'REQUIRED_APPROVALS',
    description: 'Approvals that a decision needs, by risk level; levels left out need 1.',
    default: 'low=1,medium=1,high=1,critical=1',
    expected:
      'level=approvals pairs separated by commas; levels low, medium, high, critical, each once; approvals 1 to 100',
    example: 'high=2,critical=3',
    parse: parseRequiredApprovals,
  },
  fourEyes: {
    name: 'FOUR_EYES',
    description: 'Whether changes of policies, agents, keys and webhooks need a second person: see docs/four-eyes.md.',
    default: 'false',
    example: 'true',
    ...trueOrFalse(),
  },
  /** Checked at the start by the room for changes, which knows the form of a group. */
  changeApprovers: {
    name: 'CHANGE_APPROVERS',
    description:
      'Who approves such changes: groups as in a policy, as JSON. Unset: any people, as many as REQUIRED_APPROVALS says for high.',
    example: '[{"subjects":["role:security"],"approvals":2}]',
    ...optional('a JSON list of groups of approvers, as in a policy', parseJsonList),
  },
  changeWithin: {
    name: 'CHANGE_WITHIN',
    description: 'How long an approved change may be made.',
    default: 'PT1H',
    expected: 'an ISO 8601 duration from PT1S to P7D',
    parse: (text) => (parseDuration(text, MAX_CHANGE_MS) === undefined ? undefined : text),
  },
  directoryRoles: {
    name: 'DIRECTORY_ROLES',
    description:
      'Roles of people from a directory (SCIM), by the groups they are in: JSON with the externalId or id of each group.',
    default: '{}',
    example: '{"grp-finance":["finance"],"grp-oncall":["operations","reviewer"]}',
    expected:
      'JSON such as {"<group>":["<role>"]}: up to 1000 groups, with 1 to 50 roles each, of up to 100 characters',
    parse: parseDirectoryRoles,
  },
  actionTimeout: {
    name: 'ACTION_TIMEOUT',
    description: 'Milliseconds an action handler may run before its execution counts as failed.',
    default: '30000',
    ...wholeNumber(1, MAX_TIME_MS),
  },
  permitAudiences: {
    name: 'PERMIT_AUDIENCES',
    description: 'Systems for which permits are made: tokens that prove one authorised action. Needs PUBLIC_URL.',
    example: 'bank,https://vault.example.com',
    ...listOf('names of up to 200 visible ASCII characters, separated by commas', matchRule(AUDIENCE)),
  },
  /** Milliseconds. */
  permitTtl: {
    name: 'PERMIT_TTL',
    onlyWith: 'PERMIT_AUDIENCES',
    description: 'How long a permit is valid, from its authorisation on.',
    default: 'PT5M',
    expected: 'an ISO 8601 duration from PT1S to PT1H',
    parse: (text) => parseDuration(text, MAX_PERMIT_MS),
  },
  /** Key that signs permits; never show it. Null if the service generates and stores one. */
  permitKey: {
    name: 'PERMIT_KEY',
    onlyWith: 'PERMIT_AUDIENCES',
    description:
      'Key that signs permits: a P-256 private key. Unset: one is generated at the first start and kept in a file.',
    // With keys of their own, replicas would list different keys.
    requiredInProduction: ({ DATABASE_URL = '', PERMIT_AUDIENCES = '' }) =>
      isPostgresUrl(DATABASE_URL) && PERMIT_AUDIENCES !== '',
    example: '$(openssl rand -base64 32)',
    mask: maskApiKey,
    ...optional(
      'the 32 bytes of a P-256 private key in standard base64, the same for all processes on one database',
      parsePrivateKey,
    ),
  },
  previousPermitKeys: {
    name: 'PERMIT_KEY_PREVIOUS',
    onlyWith: 'PERMIT_AUDIENCES',
    description: 'Public keys of previous permit keys; list each until the last permit that it signed has expired.',
    // If somebody sets the previous secret key by mistake, it must not appear in a log.
    mask: maskApiKey,
    example: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY.T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
    ...listOf(
      'public keys as <x>.<y>, the members of a key in /.well-known/jwks.json, separated by commas',
      parseP256PublicKey,
    ),
  },
} satisfies VariableTable;

const MAX_APPROVALS = 100;

function parseJsonList(text: string): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** Parses a text such as `low=1,high=2`; levels that are left out need one approval. */
function parseRequiredApprovals(text: string): RequiredApprovals | undefined {
  const pairs = parseList(text, parsePair);
  if (!pairs || new Set(pairs.map(([level]) => level)).size < pairs.length) return undefined;
  return { low: 1, medium: 1, high: 1, critical: 1, ...Object.fromEntries(pairs) };
}

function parsePair(text: string): readonly [RiskLevel, number] | undefined {
  const equalsSign = text.indexOf('=');
  const level = RISK_LEVELS.find((riskLevel) => riskLevel === text.slice(0, equalsSign));
  const approvals = parseWholeNumber(text.slice(equalsSign + 1), 1, MAX_APPROVALS);
  return level === undefined || approvals === undefined ? undefined : [level, approvals];
}

function parsePrivateKey(text: string): Buffer | undefined {
  const secret = parseSeed(text);
  return secret !== undefined && p256Key(secret) !== undefined ? secret : undefined;
}
