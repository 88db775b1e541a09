/**
 * What a program that depends on the package may use. Everything else may change. The types are listed in
 * docs/public-types.md.
 */

// Starting the service.
export { createApp, type AppOptions } from './create-app';
export type { FeatureModule } from './app.module';
export { RISK_LEVELS, type RiskLevel } from './config/configuration';
export type { Environment } from './config/variables/variable';
export { startService } from './start/start-service';
export { ConfigurationError } from './config/read-configuration';
export { DatabaseInUseError } from './database/database-in-use.error';

// Settings of a module.
export { ConfigurationModule } from './config/configuration.module';
export type { SettingRows } from './config/settings-contribution';
export {
  oneOf,
  parseList,
  parseWholeNumber,
  trueOrFalse,
  wholeNumber,
  type Reading,
  type Variable,
} from './config/variables/variable';

// Kinds of record, their tables and their migrations.
export { LedgerModule, type LedgerFeature } from './ledger/ledger.module';
export type {
  AnyRecordKind,
  ColumnOf,
  DecisiveForm,
  GovernedRow,
  RecordKind,
  StoredColumns,
} from './ledger/record-kind';
export type { SqlValue } from './database/sql-connection';
export type { MigrationClass } from './database/start-condition';
export { governedColumns, integerColumn, optionalTextColumn, sequenceColumn, textColumn } from './database/columns';

// Writing and reading.
export { LedgerService, type LedgerWriter, type WriteTerms } from './ledger/ledger.service';
export {
  Refusal,
  type BeforeReplay,
  type Command,
  type EntryNote,
  type AccessDeniedNote,
  type EntryOutcome,
  type LedgerTransaction,
} from './ledger/ledger-transaction';
export type { Viewer } from './ledger/records/visibility';
export { byId, byKey, existence, type Lookup } from './ledger/lookup';
export {
  SYSTEM_CALLER,
  type Actor,
  SCOPES,
  type Caller as LedgerCaller,
  type Identity,
  type Scope,
} from './ledger/caller';
export { AnswersOnce, type OutsideWork } from './ledger/answers-once';
export { RecordReader } from './ledger/reading/record-reader';
export { CounterReader, type LedgerCounts } from './ledger/reading/counter-reader';
export type { Comparison, Condition, Page, PageRequest, SortOrder } from './ledger/record-page';
export type { JsonObject, JsonScalar, JsonValue } from './json/json-value';

// The service's own kinds of record, for references to them.
export { AGENT } from './agents/agent.kind';
export { AGENT_KINDS, type AgentKind } from './agents/agent-kind';
export { AGENT_STATUSES, type Agent, type AgentStatus } from './agents/agent.entity';
export { agentLookup, findAgent, type AgentLookup } from './agents/find-agent';
export { referencedAgent } from './agents/agent-reference';
export { DECISION } from './decisions/decision.kind';
export {
  DECISION_STATUSES,
  type Decision,
  type DecisionStatus,
  type Review,
  type Verdict,
  VERDICTS,
} from './decisions/decision.entity';
export { ENTITY } from './entities/entity.kind';
export type { GovernedEntity } from './entities/governed-entity.entity';
export { EXECUTION } from './executions/execution.kind';
export { EXECUTION_OUTCOMES, type Execution, type ExecutionOutcome } from './executions/execution.entity';
export { POLICY } from './policies/policy.kind';
export type { NumberComparison, PolicyCondition } from './policies/conditions/condition';
export type { ApprovalRequirement, ApproverGroup } from './policies/approval/approval-requirement';
export type { DecidingPolicy } from './policies/evaluation/evaluation-request';
export { POLICY_EFFECTS, type PolicyEffect } from './policies/evaluation/policy-effect';
export { POLICY_STATUSES, type Policy, type PolicyStatus } from './policies/policy.entity';

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
} from './errors/domain-error';
export { defineErrorCode, type AnyErrorCode, type ModuleError, type ModuleErrorCode } from './errors/module-error-code';
export { DENIAL_REASONS, ERRORS, type DenialReason, type ErrorCode, type ErrorRow } from './errors/error-codes';

// Routes.
export { ClientLeft } from './http/answers/client-left.decorator';
export { Caller } from './http/pipeline/caller.decorator';
export {
  type AdmissionRule,
  AdmittedBy,
  AnyScope,
  OwnAgentIn,
  Public,
  RateLimitBucket,
  RequiresScope,
  Revisioned,
} from './http/request/route-marks';
export { IfMatch } from './http/conditional/if-match.decorator';
export type { Precondition } from './http/conditional/precondition';
export { ApiErrors } from './http/answers/api-errors.decorator';
export { ApiList } from './http/lists/api-list.decorator';
export { conditionsOf } from './http/lists/conditions';
export { ListQuery } from './http/lists/list.query';
export { Lists, type ListDefaults } from './http/lists/lists';
export type { Filters, ListAnswer, ListedRow, OpenList } from './http/lists/open-list';
export { ApiExamples, type BodyExamples } from './openapi/api-examples.decorator';
export { ApiTag } from './openapi/api-tag';
export { ApiRecordId, type RecordIdParameter } from './openapi/api-record-id.decorator';
export { sampleId } from './openapi/sample-id';

// Members of requests.
export {
  AtLeastOneOf,
  BooleanField,
  FreeFormObject,
  IgnoredField,
  IntegerField,
  ScalarField,
  type FreeFormField,
  type IntegerLimits,
} from './http/validation/body-fields';
export type { ChoiceText, FieldText, Presence } from './http/validation/field-text';
export { CheckedBy, type FaultInside, type MemberRule } from './http/validation/member-rule';
export { OrderedPeriod } from './http/validation/timestamp';
export {
  QueryInteger,
  QueryOneOf,
  QueryText,
  QueryTimestamp,
  type QueryPresence,
} from './http/validation/query-fields';
export {
  DistinctStrings,
  OneOf,
  OptionalText,
  RequiredText,
  TimestampField,
  type TextField,
} from './http/validation/text-fields';
export type { TextLimits, TextListLimits } from './http/validation/value-rules';
export { WholeRequest, type WholeRule } from './http/validation/dto-shape';

// Actions of agents.
export { ActionFailure } from './executions/handlers/action-failure';
export {
  ActionHandler,
  type ActionContext,
  type ActionHandlerMethod,
} from './executions/handlers/action-handler.decorator';
