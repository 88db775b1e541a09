import type { Schemas } from '../../../clients/typescript/src/index.js';

export type { AuditEntry, Execution, TransportOptions } from '../../../clients/typescript/src/index.js';
export { GovernanceClient, GovernanceError } from '../../../clients/typescript/src/index.js';

export type Me = Schemas['MeResponse'];
export type Scope = Me['scopes'][number];
export type Agent = Schemas['AgentResponse'];
export type Decision = Schemas['DecisionResponse'];
export type Review = Schemas['ReviewResponse'];
export type Approver = Schemas['ApproverResponse'];
export type Approvers = Schemas['ApproverListResponse'];
export type Policy = Schemas['PolicyResponse'];
export type PolicyReference = Schemas['DecidingPolicyResponse'];
export type Evaluation = Schemas['EvaluationResponse'];
export type Entity = Schemas['EntityResponse'];
export type Key = Schemas['ApiKeyResponse'];
export type Plan = Schemas['PolicyPlanResponse'];
export type NewPolicy = Schemas['CreatePolicyRequest'];
export type Verification = Schemas['VerificationResponse'];
export type InclusionProof = Schemas['InclusionProofResponse'];
export type ChainEntry = Schemas['ProvenanceProofResponse'];
export type Oversight = Schemas['OversightResponse'];
export type Stop = Schemas['StopResponse'];
export type Grant = Schemas['GrantResponse'];
export type UsedLimit = Schemas['UsedLimitResponse'];
export type Webhook = Schemas['WebhookWithDeliveryResponse'];
export type Claim = Schemas['ClaimResponse'];
export type Checkpoint = Schemas['CheckpointResponse'];
