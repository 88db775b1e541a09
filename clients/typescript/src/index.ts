export { GovernanceClient } from './client.js';
export { GovernanceError, type ErrorFacts, type FieldFault } from './governance-error.js';
export { ApprovalPendingError, NotBegunError, OutcomeUnknownError, ResultNotReportedError } from './guard-errors.js';
export type { Outcome } from './guard-errors.js';
export type { GuardOptions, GuardRequest, RunOptions } from './guard.js';
export type { EventsRequest } from './events.js';
export type { TransportOptions } from './transport.js';
export type { AuditEntry, Execution, OnBehalfOf, Schemas } from './api-types.js';
export type { components, paths } from './openapi.js';
