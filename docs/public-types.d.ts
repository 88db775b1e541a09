// What the package exports, without what is private. Everything else may change with any version. `npm run public-types`
// writes this file from the built program; a test fails where it is not up to date. A change here is a change for those
// who depend on the package: it has a line in CHANGELOG.md.

// agent-governance-service

const AGENT: RecordKind<Agent>;

const AGENT_KINDS: readonly [
    'machine',
    'human'
];

const AGENT_STATUSES: readonly [
    'active',
    'suspended'
];

type AccessDeniedNote = Pick<EntryNote, 'agentId' | 'reason' | 'details'>;

interface ActionContext {
    readonly caller: Caller;
    readonly executionId: string;
    readonly agentId: string;
    readonly agentName: string;
    readonly action: string;
    readonly resourceType: string;
    readonly resourceId: string;
    readonly parameters: JsonObject;
    readonly onBehalfOf: OnBehalfOf | null;
    readonly run: string | null;
    readonly signal: AbortSignal;
}

class ActionFailure extends Error {
    readonly code: string | null;
    constructor(message: string, code?: string | null);
}

function ActionGuard(name: string): <Method extends ActionGuardMethod>(_target: object, _name: string | symbol, method: TypedPropertyDescriptor<Method>) => void;

type ActionGuardMethod = (action: GuardedAction) => string | null;

function ActionHandler(action: string): <Method extends ActionHandlerMethod>(_target: object, _name: string | symbol, method: TypedPropertyDescriptor<Method>) => void;

type ActionHandlerMethod = (context: ActionContext) => unknown;

interface Actor {
    readonly type: 'api_key' | 'token' | 'agent' | 'slack' | 'system';
    readonly id: string;
}

interface AdmissionRule {
    refusalOf(caller: Caller, request: Request): DomainError | null | Promise<DomainError | null>;
}

const AdmittedBy: (rule: Type<AdmissionRule>) => MethodDecorator & ClassDecorator;

class Agent {
    readonly id: string;
    readonly createdSequence: number;
    readonly name: string;
    readonly kind: AgentKind;
    readonly description: string;
    readonly capabilities: readonly string[];
    readonly roles: readonly string[];
    readonly status: AgentStatus;
    readonly observeUntil: string | null;
    readonly slackId: string | null;
    readonly directory: string | null;
    readonly team: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    readonly revision: number;
}

type AgentKind = (typeof AGENT_KINDS)[number];

interface AgentLookup {
    find(kind: RecordKind<Agent>, id: string): Promise<Agent | undefined>;
    findBy(kind: RecordKind<Agent>, key: {
        name: string;
    }): Promise<Agent | undefined>;
}

type AgentStatus = (typeof AGENT_STATUSES)[number];

type AnyErrorCode = ErrorCode | ModuleErrorCode;

type AnyRecordKind = RecordKind<GovernedRow, string>;

const AnyScope: () => MethodDecorator & ClassDecorator;

const ApiErrors: (...codes: readonly AnyErrorCode[]) => MethodDecorator & ClassDecorator;

const ApiExamples: (examples: BodyExamples) => CustomDecorator;

function ApiList(item: Type, description: string): MethodDecorator;

function ApiRecordId({ subjectType, idPrefix }: AnyRecordKind, { parameter, sample }?: RecordIdParameter): MethodDecorator;

class ApiTag {
    readonly name: string;
    readonly description: string;
    constructor(name: string, description: string);
}

interface AppOptions {
    readonly environment?: Environment;
    readonly modules?: readonly FeatureModule[];
    readonly logStream?: DestinationStream;
}

interface ApprovalRequirement {
    readonly riskLevel: RiskLevel;
    readonly approvers: readonly ApproverGroup[];
    readonly decideWithin: string;
    readonly executeWithin: string;
    readonly grant?: GrantAllowance;
}

interface ApproverGroup {
    readonly subjects: readonly string[];
    readonly approvals: number;
    readonly signed?: true;
    readonly escalate?: Escalation;
}

function AtLeastOneOf(...names: readonly string[]): ClassDecorator;

type BeforeReplay<Result> = (transaction: LedgerTransaction, answer: Result) => Promise<Result | Refusal | null>;

type BodyExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function BooleanField(field: FieldText<boolean> & Presence): PropertyDecorator;

const Caller: () => ParameterDecorator;
type Caller = LedgerCaller;

interface Change {
    readonly method: string;
    readonly path: string;
    readonly bodyHash: string;
    readonly summary: string;
    readonly rules?: string;
    readonly madeAt?: string;
}

type ChangeActor = Pick<Actor, 'type' | 'id'>;

function CheckedBy(name: string, rule: MemberRule): PropertyDecorator;

interface ChoiceText extends FieldText<string> {
    readonly enumName?: string;
}

interface ClaimCondition {
    readonly claim: string;
    readonly op: 'supports';
    readonly parameter: string;
    readonly value: number;
}

const ClientSignal: () => ParameterDecorator;

interface ClockCondition {
    readonly clock: string;
    readonly days?: readonly Day[] | null;
    readonly except?: readonly string[] | null;
    readonly op: 'between';
    readonly value: readonly [
        string,
        string
    ];
}

type ColumnOf<Row> = keyof Row & string;

type Command<Result> = (transaction: LedgerTransaction) => Promise<Result | Refusal>;

type Comparison = 'equals' | 'atLeast' | 'atMost' | 'contains' | 'after' | 'among' | 'nullOrAmong' | 'present' | 'refersTo';

interface Condition {
    readonly column: string;
    readonly comparison: Comparison;
    readonly value: SqlValue;
    readonly target?: {
        readonly table: string;
        readonly column: string;
    };
}

class ConfigurationError extends Error {
    readonly faults: readonly string[];
    constructor(faults: readonly string[]);
}

class ConfigurationModule {
    static forRoot(environment?: Environment): Promise<DynamicModule>;
    static forFeature<Values extends object>(token: abstract new () => Values, rows: SettingRows<Values>): DynamicModule;
}

class CounterReader {
    headSequence(): Promise<number>;
    read(counters: readonly string[]): Promise<LedgerCounts>;
}

const DECISION: RecordKind<Decision>;

const DECISION_STATUSES: readonly [
    'proposed',
    'approved',
    'rejected',
    'expired',
    'cancelled'
];

const DENIAL_REASONS: readonly [
    'capability_missing',
    'no_policy_allows',
    'policy_denied',
    'self_approval',
    'agent_suspended',
    'principal_suspended',
    'stopped',
    'agent_unknown',
    'scope_missing',
    'reviewer_not_bound',
    'caller_not_bound',
    'not_this_agent',
    'not_this_principal',
    'not_this_team',
    'not_reporter',
    'own_agent',
    'not_an_approver',
    'signature_required',
    'signature_invalid',
    'approval_required',
    'approval_too_large',
    'limit_reached',
    'approval_rejected',
    'approval_insufficient',
    'outcome_unknown',
    'extension_refused',
    'resource_invalid'
];

class DatabaseInUseError extends Error {
    constructor(path: string, why: string);
}

type Day = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';

interface DecidingPolicy {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly effect: PolicyEffect;
}

class Decision {
    readonly id: string;
    readonly createdSequence: number;
    readonly type: string;
    readonly title: string;
    readonly description: string;
    readonly context: JsonObject;
    readonly proposedBy: string | null;
    readonly riskLevel: RiskLevel;
    readonly status: DecisionStatus;
    readonly requiredApprovals: number;
    readonly reviews: readonly Review[];
    readonly expiresAt: string | null;
    readonly createdAt: string;
    readonly updatedAt: string;
    readonly resolvedAt: string | null;
    readonly executionId: string | null;
    readonly actionHash: string | null;
    readonly approvers: readonly ApproverGroup[] | null;
    readonly executeWithin: string | null;
    readonly grant: GrantAllowance | null;
    readonly onBehalfOf: OnBehalfOf | null;
    readonly run: string | null;
    readonly erased: boolean;
    readonly traceId: string | null;
    readonly change: Change | null;
    readonly actor: ChangeActor | null;
    readonly escalatesAt: string | null;
}

type DecisionStatus = (typeof DECISION_STATUSES)[number];

type DecisiveForm = 'texts' | readonly string[];

type DenialReason = (typeof DENIAL_REASONS)[number];

function DistinctStrings(field: TextListLimits & FieldText<string[]> & Presence): PropertyDecorator;

class DomainError extends Error {
    readonly code: AnyErrorCode;
    readonly extras: ErrorExtras;
    constructor(code: AnyErrorCode, message: string, extras?: ErrorExtras);
}

const ENTITY: RecordKind<GovernedEntity>;

const ERRORS: Readonly<Record<"CONFLICT" | "CONTENT_ERASED" | "HEADERS_TOO_LARGE" | "INTERNAL_ERROR" | "METHOD_NOT_ALLOWED" | "NOT_FOUND" | "PAYLOAD_TOO_LARGE" | "PERMISSION_DENIED" | "POLICY_DENIED" | "PRECONDITION_FAILED" | "RATE_LIMITED" | "REQUEST_TIMEOUT" | "UNAUTHORIZED" | "UNAVAILABLE" | "UNSUPPORTED_MEDIA_TYPE" | "VALIDATION_ERROR", ErrorRow>>;

const EXECUTION: RecordKind<Execution>;

const EXECUTION_OUTCOMES: readonly [
    'authorized',
    'running',
    'executed',
    'failed',
    'interrupted',
    'pending_approval',
    'approved',
    'rejected',
    'expired',
    'cancelled',
    'denied'
];

interface EarlierCondition {
    readonly earlier: string;
    readonly within?: string | null;
    readonly resource?: 'same' | null;
    readonly op: 'exists';
    readonly value: boolean;
}

type EntryFacts = Readonly<Record<'timestamp' | 'entityId' | 'agentId' | 'actorType' | 'actorId' | 'details', SqlValue>>;

interface EntryNote {
    readonly action: string;
    readonly agentId?: string | null;
    readonly entityId?: string | null;
    readonly outcome?: EntryOutcome;
    readonly reason?: string | null;
    readonly details?: JsonObject;
    readonly bySystem?: true;
}

type EntryOutcome = 'success' | 'denied' | 'failed';

type Environment = Readonly<Record<string, string | undefined>>;

type ErrorCode = keyof typeof ERRORS;

interface ErrorExtras {
    readonly details?: readonly FieldFault[];
    readonly reason?: DenialReason;
    readonly conflict?: 'managed_by_directory' | 'already_authorized';
    readonly policy?: PolicyReference;
    readonly decisionId?: string;
    readonly executionId?: string;
    readonly rejection?: RejectionWords;
    readonly scimType?: ScimType;
    readonly requestId?: string;
    readonly headers?: Readonly<Record<string, string>>;
}

interface ErrorRow {
    readonly status: number;
    readonly meaning: string;
    readonly example: {
        readonly message: string;
        readonly [more: string]: unknown;
    };
}

interface Escalation {
    readonly after: string;
    readonly subjects: readonly string[];
    readonly at?: string;
}

class Execution {
    readonly id: string;
    readonly createdSequence: number;
    readonly agentId: string;
    readonly agentName: string;
    readonly action: string;
    readonly resourceType: string;
    readonly resourceId: string;
    readonly parameters: JsonObject;
    readonly outcome: ExecutionOutcome;
    readonly reason: string | null;
    readonly actionHash: string | null;
    readonly approvedUntil: string | null;
    readonly policies: readonly DecidingPolicy[];
    readonly decisionId: string | null;
    readonly result: JsonValue;
    readonly failureReason: string | null;
    readonly createdAt: string;
    readonly completedAt: string | null;
    readonly entityId: string | null;
    readonly observed: boolean;
    readonly erased: boolean;
    readonly grantId: string | null;
    readonly instead: InsteadApproved | null;
    readonly traceId: string | null;
    readonly onBehalfOf: OnBehalfOf | null;
    readonly principal: string | null;
    readonly run: string | null;
    readonly via: string | null;
    readonly resourceKey: string | null;
    readonly runBy: string;
    readonly resumedSequence: number | null;
}

type ExecutionOutcome = (typeof EXECUTION_OUTCOMES)[number];

interface FaultInside {
    readonly at: string;
    readonly message: string;
}

type FeatureModule = Type;

interface FieldFault {
    readonly field: string;
    readonly message: string;
}

interface FieldText<Example = unknown> {
    readonly description?: string;
    readonly example?: Example;
    readonly default?: Example;
}

type Filters<Query extends ListQuery> = Omit<Query, keyof ListQuery>;

interface FreeFormField extends FieldText<JsonObject>, Presence {
    readonly rule?: (value: JsonObject) => readonly FaultInside[];
}

function FreeFormObject(field: FreeFormField): PropertyDecorator;

interface GrantInput {
    readonly for: string;
    readonly uses: number | null;
    readonly resources: readonly string[] | null;
    readonly parameters: 'same' | 'any';
}

class GovernedEntity {
    readonly id: string;
    readonly createdSequence: number;
    readonly type: string;
    readonly name: string;
    readonly properties: JsonObject;
    readonly createdAt: string;
    readonly updatedAt: string;
    readonly revision: number;
}

interface GovernedRow {
    readonly id: string;
    readonly createdSequence: number;
}

interface GrantAllowance {
    readonly for: string;
    readonly uses: number | null;
    readonly wider: boolean;
}

interface GuardedAction {
    readonly agentId: string;
    readonly agentName: string;
    readonly action: string;
    readonly resourceType: string;
    readonly resourceId: string;
    readonly parameters: JsonObject;
    readonly onBehalfOf: OnBehalfOf | null;
    readonly run: string | null;
    readonly verdict: 'allow' | 'require_approval';
    readonly policies: readonly DecidingPolicy[];
}

interface HeldInput {
    readonly params: Readonly<Record<string, string | undefined>>;
    readonly body: JsonObject;
}

interface Identity {
    readonly actor: Actor;
    readonly agentId: string | null;
    readonly principals: AllowedPrincipals;
    readonly scopes: readonly Scope[];
    readonly effectiveScopes: ReadonlySet<Scope>;
    readonly expiresAt: string | null;
    readonly gatewayAudience?: string;
    readonly team?: string;
    readonly refusal: (ledgerTime?: string) => DomainError | null;
}

type IdentityCondition = (PrincipalReference | ResourceReference) & ({
    readonly op: 'eq' | 'ne';
    readonly value: JsonScalar | ValueReference;
} | {
    readonly op: 'in' | 'not_in';
    readonly value: readonly JsonScalar[];
} | {
    readonly op: 'domain';
    readonly value: readonly string[];
} | {
    readonly op: 'exists';
    readonly value: boolean;
});

function IfMatch(): ParameterDecorator;

function IgnoredField(field: FieldText): PropertyDecorator;

interface InsteadApproved {
    readonly parameters: JsonObject;
    readonly grantId: string | null;
}

function IntegerField(field: IntegerLimits): PropertyDecorator;

interface IntegerLimits extends FieldText<number>, Presence {
    readonly min: number;
    readonly max: number;
}

interface JsonObject {
    readonly [key: string]: JsonValue;
}

type JsonScalar = string | number | boolean | null;

type JsonValue = JsonScalar | readonly JsonValue[] | JsonObject;

interface Caller extends Identity {
    readonly requestId: string | null;
    readonly ip: string | null;
    readonly traceId: string | null;
}

interface LedgerCounts {
    readonly entries: number;
    readonly records: readonly number[];
}

interface LedgerFeature {
    readonly kinds: readonly AnyRecordKind[];
    readonly migrations?: readonly MigrationClass[];
}

class LedgerModule {
    static forFeature({ kinds, migrations }: LedgerFeature): DynamicModule;
}

class LedgerService implements OnModuleInit, OnApplicationShutdown {
    onModuleInit(): Promise<void>;
    write<Result>(caller: Caller, command: Command<Result>, terms?: WriteOptions<Result>): Promise<Result>;
    withLookups(...lookups: readonly Lookup[]): LedgerWriter;
    keepInMemory<Row extends GovernedRow>(options: LiveRowsOptions<Row>): Promise<void>;
    get hasOthers(): boolean;
    get now(): string;
    get isHealthy(): boolean;
    check(): Promise<void>;
    onApplicationShutdown(): Promise<void>;
}

interface LedgerTransaction {
    readonly now: string;
    readonly caller: Caller;
    newId<Row extends GovernedRow>(kind: RecordKind<Row>): string;
    find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
    findVisible<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
    exists<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<boolean>;
    findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Partial<Row>): Promise<Row | undefined>;
    findAmong<Row extends GovernedRow>(kind: RecordKind<Row>, columns: readonly ColumnOf<Row>[], keys: readonly (readonly string[])[]): Promise<Row[]>;
    findAll<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>): Promise<Row[]>;
    findNewest<Row extends GovernedRow, Name extends ColumnOf<Row>>(kind: RecordKind<Row>, names: readonly Name[], where: Partial<Row>, most: number): Promise<(Pick<Row, Name> & GovernedRow)[]>;
    count<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>, greater?: Partial<Row>): Promise<number>;
    insert<Row extends GovernedRow>(kind: RecordKind<Row>, row: Omit<Row, 'createdSequence'>, note: EntryNote): Row;
    update<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): Row;
    remove<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
    removeWithOwner<Row extends GovernedRow>(kind: RecordKind<Row>, ownerId: string): Promise<number>;
    record<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
    recordAccessDenied(subject: Readonly<Record<'type' | 'id', string>>, note: AccessDeniedNote): void;
    afterCommit(effect: () => unknown): void;
}

interface LedgerWriter {
    write<Result>(caller: Caller, command: Command<Result>, terms?: Omit<WriteOptions<Result>, 'lookups'>): Promise<Result>;
}

type LimitPeriod = 'hour' | 'day' | 'week' | 'month';

type LimitScope = 'agent' | 'policy' | 'request';

interface ListDefaults {
    readonly limit: number;
    readonly order: SortOrder;
}

class ListQuery {
    limit?: number;
    offset?: number;
    order?: SortOrder;
    cursor?: string;
}

interface ListResponse<Item> {
    readonly data: Item[];
    readonly total: number;
    readonly nextCursor?: string;
}

type ListedRow = {
    readonly createdSequence: number;
} | {
    readonly sequence: number;
};

class Lists {
    open<Query extends ListQuery>(name: string, query: Query, defaults: ListDefaults, signal?: AbortSignal): Promise<OpenList<Filters<Query>>>;
}

interface LiveRowsOptions<Row extends GovernedRow> {
    readonly kind: RecordKind<Row>;
    readonly status?: string;
    readonly actions: readonly string[];
    readonly keep: (rows: readonly Row[]) => void | Promise<void>;
}

interface Lookup {
    readonly kind: AnyRecordKind;
    readonly column: string;
    readonly value: string;
}

type MemberRule = (value: unknown) => string | readonly FaultInside[] | undefined;

type MigrationClass = new () => MigrationInterface;

interface ModuleError {
    readonly code: string;
    readonly status: number;
    readonly meaning: string;
    readonly example: string;
}

type ModuleErrorCode = string & {
    readonly isOfModule: true;
};

const NeedsSecondPerson: (rule: SecondPersonRule) => MethodDecorator;

type NumberComparison = 'lt' | 'lte' | 'gt' | 'gte';

interface OnBehalfOf {
    readonly subject: string;
    readonly roles?: readonly string[];
}

function OneOf(values: readonly string[], field: ChoiceText & Presence): PropertyDecorator;

class OpenList<Filtered extends object> {
    get filters(): Filtered;
    request(conditions: readonly Condition[]): PageRequest;
    answer<Row extends ListedRow, Item>(page: Page<Row>, present: (row: Row) => Item): Promise<ListResponse<Item>>;
}

function OptionalText(field: TextField): PropertyDecorator;

function OrderedPeriod(): ClassDecorator;

const OwnAgentIn: (member: string) => MethodDecorator & ClassDecorator;

const POLICY: RecordKind<Policy>;

const POLICY_EFFECTS: readonly [
    'allow',
    'require_approval',
    'deny'
];

const POLICY_STATUSES: readonly [
    'active',
    'superseded',
    'inactive'
];

interface Page<Row> {
    readonly rows: readonly Row[];
    readonly total: number;
    readonly totalOf?: string | null;
    readonly more: boolean;
}

interface PageRequest {
    readonly conditions: readonly Condition[];
    readonly limit: number;
    readonly offset: number;
    readonly order: SortOrder;
    readonly position: number | null;
    readonly total: number | null;
    readonly totalOf?: string | null;
    readonly signal?: AbortSignal | undefined;
}

type ParameterCondition = ParameterReference & ({
    readonly op: 'eq' | 'ne';
    readonly value: JsonScalar | ValueReference;
} | {
    readonly op: 'in' | 'not_in';
    readonly value: readonly JsonScalar[];
} | {
    readonly op: NumberComparison;
    readonly value: number | ParameterReference;
} | {
    readonly op: 'prefix' | 'within';
    readonly value: string;
} | {
    readonly op: 'domain';
    readonly value: readonly string[];
} | {
    readonly op: 'exists';
    readonly value: boolean;
});

interface ParameterReference {
    readonly parameter: string;
}

interface PasskeySignature {
    readonly passkeyId: string;
    readonly authenticatorData: string;
    readonly clientDataJSON: string;
    readonly signature: string;
}

class Policy {
    readonly id: string;
    readonly createdSequence: number;
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly effect: PolicyEffect;
    readonly subjects: readonly string[];
    readonly actions: readonly string[];
    readonly resources: readonly string[];
    readonly resourceTypes: readonly string[];
    readonly priority: number;
    readonly conditions: readonly PolicyCondition[];
    readonly limits: readonly PolicyLimit[];
    readonly onBehalfOf: readonly string[];
    readonly approval: ApprovalRequirement | null;
    readonly team: string | null;
    readonly status: PolicyStatus;
    readonly warnings: readonly string[];
    readonly createdAt: string;
}

type PolicyCondition = ParameterCondition | IdentityCondition | ClockCondition | EarlierCondition | ClaimCondition;

type PolicyEffect = (typeof POLICY_EFFECTS)[number];

interface PolicyLimit {
    readonly max: number;
    readonly of?: string;
    readonly per: LimitPeriod;
    readonly zone?: string;
    readonly by: LimitScope;
}

interface PolicyReference {
    readonly id: string;
    readonly name: string;
    readonly version: string;
}

type PolicyStatus = (typeof POLICY_STATUSES)[number];

interface Precondition {
    require(revision: number): void;
}

interface Presence {
    readonly optional?: boolean;
}

interface PrincipalReference {
    readonly principal: 'id' | 'type';
}

const Public: () => MethodDecorator & ClassDecorator;

function QueryInteger(field: FieldText<number> & QueryPresence & {
    min: number;
    max: number;
}): PropertyDecorator;

function QueryOneOf(values: readonly string[], field: ChoiceText): PropertyDecorator;

interface QueryPresence {
    readonly required?: true;
}

function QueryText(field: TextLimits & FieldText<string> & {
    normalise?: (text: string) => string;
}): PropertyDecorator;

function QueryTimestamp(field: FieldText<string>): PropertyDecorator;

const RISK_LEVELS: readonly [
    'low',
    'medium',
    'high',
    'critical'
];

const RateLimitBucket: (name: string) => MethodDecorator & ClassDecorator;

type Reading<Value> = Pick<Variable<Value>, 'expected' | 'parse'>;

interface RecordIdParameter {
    readonly parameter?: string;
    readonly sample?: number;
}

interface RecordKind<Row extends GovernedRow, Column extends string = ColumnOf<Row>> {
    readonly subjectType: string;
    readonly idPrefix: string;
    readonly table: new () => Row;
    readonly hashedMembers: readonly Column[];
    readonly laterMembers?: Readonly<Partial<Record<Column, JsonValue>>>;
    readonly uniqueKeys?: readonly (readonly Column[])[];
    readonly counter: string;
    readonly countedBy?: readonly Column[];
    readonly listColumns?: readonly Column[];
    readonly timeColumn?: Column;
    readonly fixed?: readonly Column[];
    readonly due?: {
        readonly timeColumn: Column;
        readonly where: string;
    };
    readonly decisive?: Readonly<Partial<Record<Column, DecisiveForm>>>;
    readonly owner?: {
        readonly kind: AnyRecordKind;
        readonly column: string;
    };
    readonly visibility?: {
        readonly allWith: readonly Scope[];
        readonly agentColumn: string;
        readonly presentFor?: {
            readonly scope: Scope;
            readonly column: string;
        };
    };
    readonly team?: TeamMembership;
    readonly unhashedAgree?: (stored: StoredColumns, entry: EntryFacts) => boolean;
    readonly repeats?: {
        readonly table: string;
        readonly by: string;
        readonly columns: readonly string[];
    };
    readonly entrySequences?: Readonly<Partial<Record<Column, string>>>;
    readonly isSaidInDetails?: true;
    readonly isInStatistics?: boolean;
    readonly isKeptInMemory?: boolean;
}

class RecordReader {
    find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string, viewer?: Viewer): Promise<Row | undefined>;
    exists(kind: AnyRecordKind, id: string): Promise<boolean>;
    findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Readonly<Partial<Record<ColumnOf<Row>, string>>>): Promise<Row | undefined>;
    page<Row extends GovernedRow>(kind: RecordKind<Row>, request: PageRequest, viewer?: Viewer): Promise<Page<Row>>;
    chunks<Row extends GovernedRow>(kind: RecordKind<Row>, conditions: readonly Condition[], limit: number, viewer?: Viewer): AsyncGenerator<readonly Row[]>;
    due<Row extends GovernedRow>(kind: RecordKind<Row>, now: string, limit: number, due?: RecordKind<Row>['due']): AsyncGenerator<string[]>;
}

class Refusal {
    readonly error: DomainError;
    constructor(error: DomainError);
}

interface RejectionWords {
    readonly comment: string | null;
    readonly instead: {
        readonly parameters: Readonly<Record<string, unknown>>;
        readonly grantId: string | null;
    } | null;
}

function RequiredText(field: TextField): PropertyDecorator;

const RequiresScope: (...scopes: readonly [
    Scope,
    ...Scope[]
]) => MethodDecorator & ClassDecorator;

interface ResourceReference {
    readonly resource: 'last';
}

interface Review {
    readonly approverId: string | null;
    readonly verdict: Verdict;
    readonly comment: string | null;
    readonly createdAt: string;
    readonly groups?: readonly number[];
    readonly grant?: GrantInput;
    readonly signature?: PasskeySignature;
    readonly delegationId?: string;
}

const Revisioned: () => MethodDecorator & ClassDecorator;

type RiskLevel = (typeof RISK_LEVELS)[number];

const SCOPES: readonly [
    'read',
    'audit',
    'entities',
    'agents',
    'execute',
    'propose',
    'review',
    'policies',
    'admin',
    'report',
    'directory'
];

const SYSTEM_CALLER: Caller;

function ScalarField(field: FieldText<string | number | boolean> & {
    maxLength: number;
}): PropertyDecorator;

type ScimType = 'uniqueness' | 'invalidFilter' | 'mutability' | 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue';

type Scope = (typeof SCOPES)[number];

interface SecondPersonRule {
    summary(input: HeldInput, result: unknown): string;
    isHeld?(input: HeldInput, caller: Caller, result: unknown): boolean;
    visibleBody?(body: JsonObject, result: unknown): JsonObject;
    readonly changesPolicies?: true;
    readonly canWait?: true;
    readonly writesAside?: true;
}

type SettingRows<Values> = {
    readonly [Member in keyof Values]: Variable<Values[Member]>;
};

type SortOrder = 'asc' | 'desc';

type SqlValue = string | number | null;

type StoredColumns = Readonly<Record<string, SqlValue>>;

type TeamMembership = {
    readonly column: string;
    readonly sharesOthers?: true;
} | {
    readonly column: string;
    readonly of: AnyRecordKind;
} | 'nobody';

interface TextField extends TextLimits, FieldText<string> {
    readonly normalise?: (text: string) => string;
}

interface TextLimits {
    readonly min?: number;
    readonly max: number;
    readonly mayBeBlank?: boolean;
    readonly rule?: (text: string) => string | undefined;
}

interface TextListLimits {
    readonly minItems?: number;
    readonly maxItems: number;
    readonly item: TextLimits;
}

function TimestampField(field: FieldText<string> & Presence): PropertyDecorator;

interface TokenPrincipal {
    readonly claim: string | null;
    readonly roles: readonly string[] | null;
    readonly people: ReadonlySet<string>;
}

const VERDICTS: readonly [
    'approve',
    'reject'
];

type ValueReference = ParameterReference | PrincipalReference | ResourceReference;

interface Variable<Value> {
    readonly name: string;
    readonly description: string;
    readonly default: string;
    readonly defaultInTest?: () => string;
    readonly requiredInProduction?: (environment: Environment) => boolean;
    readonly requiredWith?: (environment: Environment) => string | undefined;
    readonly refusedInProduction?: (text: string) => boolean;
    readonly onlyWith?: string;
    readonly contradiction?: (text: string, environment: Environment) => string | undefined;
    readonly expected: string;
    readonly example?: string;
    readonly mask?: (text: string) => string;
    readonly parse: (text: string) => Value | undefined;
    readonly explain?: (text: string) => string | undefined;
}

type Verdict = (typeof VERDICTS)[number];

type Viewer = Pick<Caller, 'agentId' | 'effectiveScopes' | 'team'>;

type AllowedPrincipals = 'anybody' | readonly string[] | TokenPrincipal;

function WholeRequest(rule: WholeRule): ClassDecorator;

type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

interface WriteOptions<Result> {
    readonly lookups?: readonly Lookup[];
    readonly beforeReplay?: BeforeReplay<Result>;
}

function agentLookup(idOrName: string): Lookup;

function byId(kind: AnyRecordKind, id: string): Lookup;

function byKey<Row extends GovernedRow>(kind: RecordKind<Row>, column: ColumnOf<Row>, value: string): Lookup;

function conditionsOf<Filtered extends object>(filters: Filtered, columns: Readonly<Record<keyof Filtered & string, readonly [
    column: string,
    comparison: Comparison
]>>): Condition[];

function conflict(message: string): DomainError;

function createApp({ environment, modules, logStream, }?: AppOptions): Promise<NestExpressApplication>;

function defineErrorCode(error: ModuleError): ModuleErrorCode;

function findAgent(records: AgentLookup, idOrName: string): Promise<Agent | undefined>;

function governedColumns(): TableColumnOptions[];

function integerColumn(name: string): TableColumnOptions;

function invalid(faults: readonly FieldFault[], extras?: Pick<ErrorExtras, 'scimType'>): DomainError;

function invalidField(field: string, message: string): DomainError;

function notFound(subject: string): DomainError;

function oneOf<const Choice extends string>(choices: readonly Choice[]): Reading<Choice>;

function optionalTextColumn(name: string): TableColumnOptions;

function parseList<Item>(text: string, parse: (item: string) => Item | undefined): Item[] | undefined;

function parseWholeNumber(text: string, smallest: number, largest: number): number | undefined;

function permissionDenied(reason: DenialReason, message: string, extras?: ErrorExtras): DomainError;

function policyDenied(policy: PolicyReference, message: string): DomainError;

function preconditionFailed(message?: string): DomainError;

function requireReferencedAgent(transaction: LedgerTransaction, field: string, idOrName: string): Promise<Agent>;

function sampleId(prefix: string, number?: number): string;

function sequenceColumn(name: string): TableColumnOptions;

function startService(options?: AppOptions): Promise<void>;

function textColumn(name: string): TableColumnOptions;

function trueOrFalse(): Reading<boolean>;

function unavailable(why: string, retryAfterSeconds?: number): DomainError;

function wholeNumber(smallest: number, largest: number): Reading<number>;

// agent-governance-service/testing

interface Answer {
    readonly status: number;
    readonly headers: Headers;
    readonly text: string;
    readonly body: Parsed;
}

type Parsed = ReturnType<typeof JSON.parse>;

interface Sent {
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    readonly key?: string | null;
}

const TEST_API_KEY = "a-key-for-tests-that-is-long-enough";

interface TemporaryDatabase {
    readonly folder: string;
    readonly path: string;
    readonly environment: {
        readonly DATABASE_URL: string;
        readonly CHECKPOINT_FOLDER: string;
    };
    remove(): Promise<void>;
}

interface TestApp {
    readonly application: NestExpressApplication;
    readonly url: string;
    send(method: string, path: string, sent?: Sent): Promise<Answer>;
    close(): Promise<void>;
}

interface TestAppOptions extends AppOptions {
    readonly postgresServer?: string;
}

function createTestApp({ postgresServer, environment, ...others }?: TestAppOptions): Promise<TestApp>;

function temporaryDatabase(postgresServer?: string): Promise<TemporaryDatabase>;
