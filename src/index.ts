/**
 * Exports for programs that depend on the package. Everything else may change. The types are listed in
 * docs/public-types.d.ts.
 */

// Starting the service.
export { createApp, type AppOptions } from './create-app';
export type { FeatureModule } from './app.module';
export { RISK_LEVELS, type RiskLevel } from './core/config/variables/governance-variables';
export type { Environment } from './core/config/variables/variable';
export { startService } from './program/start/start-service';
export { ConfigurationError } from './core/config/read-configuration';
export { DatabaseInUseError } from './ledger/database/database-fault';

// Settings of a module.
export { ConfigurationModule } from './core/config/configuration.module';
export {
  oneOf,
  parseList,
  parseWholeNumber,
  trueOrFalse,
  wholeNumber,
  type Reading,
  type SettingRows,
  type Variable,
} from './core/config/variables/variable';

// Kinds of record, their tables and their migrations.
export { LedgerModule, type LedgerFeature } from './ledger/ledger.module';
export type {
  AnyRecordKind,
  ColumnOf,
  DecisiveForm,
  TeamMembership,
  GovernedRow,
  RecordKind,
  EntryFacts,
  StoredColumns,
} from './ledger/kinds/record-kind';
export type { SqlValue } from './ledger/database/sql-connection';
export type { MigrationClass } from './ledger/database/start-condition';
export {
  governedColumns,
  integerColumn,
  optionalTextColumn,
  sequenceColumn,
  textColumn,
} from './ledger/database/columns';

// Writing and reading.
export { LedgerService, type LedgerWriter } from './ledger/ledger.service';
export type { LiveRowsOptions } from './ledger/head/projections';
export {
  Refusal,
  type BeforeReplay,
  type Command,
  type EntryNote,
  type AccessDeniedNote,
  type EntryOutcome,
  type LedgerTransaction,
  type WriteOptions as WriteTerms,
} from './ledger/commands/ledger-transaction';
export type { Viewer } from './ledger/records/visibility';
export { byId, byKey, type Lookup } from './ledger/kinds/lookup';
export {
  SYSTEM_CALLER,
  type Actor,
  SCOPES,
  type Caller as LedgerCaller,
  type Identity,
  type Scope,
  type TokenPrincipal,
  type AllowedPrincipals as Vouching,
} from './ledger/kinds/caller';
export { RecordReader } from './ledger/reading/record-reader';
export { CounterReader, type LedgerCounts } from './ledger/reading/counter-reader';
export type { Comparison, Condition, Page, PageRequest, SortOrder } from './ledger/kinds/record-page';
export type { JsonObject, JsonScalar, JsonValue } from './core/json/json-value';

// The service's own kinds of record, for references to them.
export { AGENT_KINDS, type AgentKind } from './governance/agents/agent-name';
export { AGENT, AGENT_STATUSES, type Agent, type AgentStatus } from './governance/agents/agent.entity';
export { agentLookup, findAgent, requireReferencedAgent, type AgentLookup } from './governance/agents/find-agent';
export {
  DECISION,
  DECISION_STATUSES,
  type Decision,
  type DecisionStatus,
  type Review,
  type Verdict,
  VERDICTS,
} from './governance/decisions/decision.entity';
export type { Change, ChangeActor } from './governance/decisions/change-content';
export { ENTITY, type GovernedEntity } from './governance/entities/governed-entity.entity';
export {
  EXECUTION,
  EXECUTION_OUTCOMES,
  type Execution,
  type ExecutionOutcome,
  type InsteadApproved,
} from './governance/executions/execution.entity';
export type { ClockCondition, Day } from './governance/policies/conditions/clock';
export type { ClaimCondition, EarlierCondition } from './governance/policies/conditions/condition';
export type {
  IdentityCondition,
  NumberComparison,
  ParameterCondition,
  PolicyCondition,
} from './governance/policies/conditions/condition';
export type {
  ParameterReference,
  PrincipalReference,
  ResourceReference,
  ValueReference,
} from './governance/policies/conditions/operand';
export type {
  ApprovalRequirement,
  ApproverGroup,
  Escalation,
} from './governance/policies/approval/approval-requirement';
export type { PasskeySignature } from './governance/passkeys/webauthn';
export type { GrantInput as GivenGrant, GrantAllowance } from './governance/policies/approval/approval-requirement';
export type { OnBehalfOf } from './governance/policies/patterns/principals';
export type { LimitScope, PolicyLimit } from './governance/policies/limits/limit';
export type { LimitPeriod } from './governance/policies/limits/limit-window';
export type { DecidingPolicy } from './governance/policies/evaluation/evaluation';
export { POLICY_EFFECTS, type PolicyEffect } from './governance/policies/evaluation/evaluation';
export { POLICY, POLICY_STATUSES, type Policy, type PolicyStatus } from './governance/policies/policy.entity';

// Errors.
export {
  conflict,
  DomainError,
  invalid,
  invalidField,
  notFound,
  permissionDenied,
  policyDenied,
  preconditionFailed,
  unavailable,
  type ErrorExtras,
  type FieldFault,
  type PolicyReference,
  type RejectionWords,
  type ScimType,
} from './core/errors/domain-error';
export { defineErrorCode, type AnyErrorCode, type ModuleError, type ModuleErrorCode } from './core/errors/error-codes';
export { DENIAL_REASONS, ERRORS, type DenialReason, type ErrorCode, type ErrorRow } from './core/errors/error-codes';

// Routes.
export { ClientSignal } from './http/responses/response-end';
export { Caller } from './http/input/caller.decorator';
export {
  type AdmissionRule,
  AdmittedBy,
  AnyScope,
  OwnAgentIn,
  Public,
  RateLimitBucket,
  NeedsSecondPerson,
  type HeldInput,
  type SecondPersonRule,
  RequiresScope,
  Revisioned,
} from './http/request/routes';
export { IfMatch, type Precondition } from './http/request/precondition';
export { ApiErrors } from './http/request/routes';
export { ApiList } from './http/lists/api-list.decorator';
export { conditionsOf, ListQuery } from './http/lists/list.query';
export {
  type Filters,
  type ListResponse,
  type ListedRow,
  type OpenList,
  Lists,
  type ListDefaults,
} from './http/lists/lists';
export { ApiExamples, type BodyExamples } from './http/openapi/documentation.decorators';
export { ApiTag } from './http/openapi/documentation.decorators';
export { ApiRecordId, type RecordIdParameter } from './http/openapi/documentation.decorators';
export { sampleId } from './http/openapi/documentation.decorators';

// Members of requests.
export { CheckedBy, WholeRequest, type WholeRule } from './http/validation/dto';
export {
  AtLeastOneOf,
  BooleanField,
  DistinctStrings,
  type FreeFormField,
  FreeFormObject,
  IgnoredField,
  IntegerField,
  type IntegerLimits,
  OneOf,
  OptionalText,
  RequiredText,
  ScalarField,
  type TextField,
  TimestampField,
} from './http/validation/fields';
export { type ChoiceText, type FieldText, type Presence } from './http/validation/shapes';
export {
  OrderedPeriod,
  QueryInteger,
  QueryOneOf,
  type QueryPresence,
  QueryText,
  QueryTimestamp,
} from './http/validation/query-fields';
export type { FaultInside, MemberRule, TextLimits, TextListLimits } from './http/validation/shapes';

// Actions of agents.
export { ActionGuard, type ActionGuardMethod, type GuardedAction } from './governance/permissions/action-guards';
export { ActionFailure } from './governance/executions/handlers/action-handlers';
export {
  ActionHandler,
  type ActionContext,
  type ActionHandlerMethod,
} from './governance/executions/handlers/action-handlers';
