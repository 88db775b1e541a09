import {
  LONGEST_TIME,
  oneOf,
  parseList,
  parseWholeNumber,
  trueOrFalse,
  type VariableTable,
  wholeNumber,
} from './variable';

const POLICY_DEFAULT_EFFECTS = ['allow', 'deny'] as const;
export type PolicyDefaultEffect = (typeof POLICY_DEFAULT_EFFECTS)[number];

export const RISK_LEVELS = ['low', 'medium', 'high', 'critical'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** The approvals that a decision of each risk level needs. */
export type RequiredApprovals = Readonly<Record<RiskLevel, number>>;

/** Settings about what agents may do: rows of `VARIABLES`, kept here. */
export const GOVERNANCE_VARIABLES = {
  policyDefaultEffect: {
    name: 'POLICY_DEFAULT_EFFECT',
    description: 'What happens to an action that no policy matches.',
    default: 'deny',
    example: 'deny',
    ...oneOf(POLICY_DEFAULT_EFFECTS),
  },
  maxPolicies: {
    name: 'MAX_POLICIES',
    description: 'Policies that may be in force at a time.',
    default: '10000',
    example: '10000',
    ...wholeNumber(1, 1_000_000),
  },
  maxPolicyText: {
    name: 'MAX_POLICY_TEXT',
    description: 'Total bytes that the patterns of all policies in force may have; they are held in memory.',
    default: '33554432',
    example: '33554432',
    ...wholeNumber(1, 2 ** 31 - 1),
  },
  planTimeout: {
    name: 'PLAN_TIMEOUT',
    description: 'Milliseconds that a plan may spend looking for changes; beyond that, it says that it is incomplete.',
    default: '10000',
    example: '10000',
    ...wholeNumber(1, 600_000),
  },
  replayLimit: {
    name: 'REPLAY_LIMIT',
    description: 'At most this many recorded executions, the newest, are evaluated again by a plan with `replay`.',
    default: '100000',
    example: '100000',
    ...wholeNumber(1, 10_000_000),
  },
  maxPendingApprovals: {
    name: 'MAX_PENDING_APPROVALS',
    description: 'Executions of one agent that may wait for approval at a time.',
    default: '100',
    example: '100',
    ...wholeNumber(1, 1_000_000),
  },
  maxWaiting: {
    name: 'MAX_WAITING',
    description: 'Requests with `wait` that may wait at a time; further ones are answered at once.',
    default: '1000',
    example: '1000',
    ...wholeNumber(0, 1_000_000),
  },
  maxEventStreams: {
    name: 'MAX_EVENT_STREAMS',
    description: 'Streams of events that may be open at a time; further ones are refused with 503.',
    default: '200',
    example: '200',
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
    example: 'false',
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
  actionTimeout: {
    name: 'ACTION_TIMEOUT',
    description: 'Milliseconds an action handler may run before its execution counts as failed.',
    default: '30000',
    example: '30000',
    ...wholeNumber(1, LONGEST_TIME),
  },
} satisfies VariableTable;

const MOST_APPROVALS = 100;

/** `low=1,high=2`: levels that are left out need one approval. */
function parseRequiredApprovals(text: string): RequiredApprovals | undefined {
  const pairs = parseList(text, parsePair);
  if (!pairs || new Set(pairs.map(([level]) => level)).size < pairs.length) return undefined;
  return { low: 1, medium: 1, high: 1, critical: 1, ...Object.fromEntries(pairs) };
}

function parsePair(text: string): readonly [RiskLevel, number] | undefined {
  const equalsSign = text.indexOf('=');
  const level = RISK_LEVELS.find((known) => known === text.slice(0, equalsSign));
  const approvals = parseWholeNumber(text.slice(equalsSign + 1), 1, MOST_APPROVALS);
  return level === undefined || approvals === undefined ? undefined : [level, approvals];
}
