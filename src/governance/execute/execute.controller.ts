import { Body, Controller, Get, Logger, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiParam, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { errorMessage, requireFound } from '../../core/errors/domain-error';
import { RecordHistory } from '../../ledger/record-history';
import { Approvers } from '../decisions/approvers';
import { CancelDecisionRequest } from '../decisions/dto/decision.requests';
import { type Execution, EXECUTION } from '../executions/execution.entity';
import { ClientSignal } from '../../http/responses/response-end';
import { WaitQuery, RecordWaiter } from '../../http/reading/record-waiter';
import { OwnAgentIn, SetRouteMetadata, RequiresScope, ApiErrors } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { ExecutionResponse } from '../executions/dto/execution.dto';
import { ApprovalsService } from './approvals.service';
import { ExecuteService } from './execute.service';
import { FreeFormObject, RequiredText } from '../../http/validation/fields';
import type { JsonObject } from '../../core/json/json-value';
import { OnBehalfOfField, RunField, type PrincipalInput } from '../permissions/principals';
import { CancelRunRequest, RunCancellationResponse } from './run-cancellation.dto';
import { GovernanceRepeat } from './unknown-outcomes';
import { requireVia, ViaField } from './via';
import { type PermitRequest, PermitField } from '../permits/permits';
import { reservedFaults } from '../secrets/replacement';
import { SecretPointersField } from '../secrets/secret-field';
import { ACTION, RESOURCE_ID, RESOURCE_TYPE } from '../permissions/evaluation/permission-checks';

class ExecuteActionRequest {
  @RequiredText({
    ...ACTION,
    description: 'The agent must have it among its capabilities. In Unicode normal form C.',
    example: 'send-reminder',
  })
  readonly action!: string;

  @RequiredText({
    ...RESOURCE_TYPE,
    description: 'Without `/`; percent-encoding as in `resourceId`.',
    example: 'document',
  })
  readonly resourceType!: string;

  @RequiredText({
    ...RESOURCE_ID,
    description:
      'A resource path or name, without empty, `.` and `..` segments; one leading `/` is ignored. Or a URL `<scheme>://…` in its ' +
      'canonical form, with a path, and without query, fragment and user name. Refused are `\\`, control and ' +
      'format characters, white space at the ends of a segment, in a path with `/` also `?`, `#` and `;`; percent-encoded `/`, `\\`, ' +
      'letters, digits, `-._~` and bytes that are not UTF-8; more than 64 segments.',
    example: 'invoices/2026/0042',
  })
  readonly resourceId!: string;

  @FreeFormObject({
    optional: true,
    default: {},
    rule: reservedFaults,
    description:
      'Free-form members, passed to the handler of the action and stored as they were sent, except secrets: these are replaced.',
    example: { to: 'customer@example.com' },
  })
  readonly parameters?: JsonObject;

  @SecretPointersField('values in `parameters`, or below `/result` in what a handler returns,')
  readonly secret?: readonly string[];

  @OnBehalfOfField('Default: whom the token of the caller names, if anybody.')
  readonly onBehalfOf?: PrincipalInput;

  @RunField()
  readonly run?: string;

  @ViaField('The upstream of the gateway that sends the request, and will report the outcome.')
  readonly via?: string;

  @PermitField()
  readonly permit?: PermitRequest;
}

class ResumeRequest {
  @SecretPointersField('values below `/result` in what a handler returns')
  readonly secret?: readonly string[];

  @ViaField('The upstream of the gateway that resumes. Default: that of the execution, if it has one.')
  readonly via?: string;

  @PermitField()
  readonly permit?: PermitRequest;
}

/** Header of the 202 that opened a request for approval. A repeated request gets the same execution without it. */
const REQUESTED = 'Approval-Requested';
/** Header of the same 202 if too few agents can approve. */
const FEASIBLE = 'Approval-Feasible';

@ApiTags('Actions')
@Controller('agents/:id/execute')
export class ExecuteController {
  private readonly logger = new Logger(ExecuteController.name);

  constructor(
    private readonly executions: ExecuteService,
    private readonly approvers: Approvers,
  ) {}

  @Post()
  @RequiresScope('execute')
  @SetRouteMetadata({ takesGatewayTokens: true })
  @ApiRoute(
    'Execute an action as an agent',
    'The agent must be active, have the action among its capabilities, and be allowed by the policies in force. When a ' +
      'handler is registered for the action it runs; otherwise the caller carries the action out. Where a policy requires an ' +
      'approval, the answer is 202, and a repeated request returns the same one. A refusal is recorded.',
  )
  @ApiParam({ name: 'id', description: "The agent's id, or its name percent-encoded.", example: 'reminder-bot' })
  @ApiExamples({
    'allowed by a policy': {},
    'one that needs an approval': { action: 'write-off', resourceId: 'invoices/2026/0042', parameters: { amount: 80 } },
    'one to cancel': { action: 'write-off', resourceId: 'invoices/2026/0043', parameters: { amount: 90 } },
  })
  @Answers({ type: ExecutionResponse, description: 'The execution, with its outcome.' })
  @ApiAcceptedResponse({
    type: ExecutionResponse,
    headers: {
      Location: { schema: { type: 'string' }, description: 'Path of the execution.' },
      [REQUESTED]: {
        schema: { type: 'string', enum: ['true'] },
        description: 'Present if this request was the first to ask for the approval.',
      },
      [FEASIBLE]: {
        schema: { type: 'string', enum: ['false'] },
        description: 'Present next to `Approval-Requested` if nobody, or too few, can approve now.',
      },
    },
    description:
      'It needs an approval first: the execution waits for its decision, or is approved and has to be resumed. This ' +
      'answer never means that the action may be carried out. `Location` names the execution.',
  })
  @ApiErrors('POLICY_DENIED')
  async action(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { parameters = {}, ...requested }: ExecuteActionRequest,
    @GovernanceRepeat() repeats: string | null,
    @ClientSignal() signal: AbortSignal,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ExecutionResponse> {
    requireVia(caller, requested.via);
    const { execution, isRequested, permit } = await this.executions.execute(caller, id, {
      parameters,
      ...requested,
      repeats,
    });
    const { id: executionId, outcome } = execution;
    const mayNotBegin = outcome === 'pending_approval' || outcome === 'approved';
    if (mayNotBegin) response.status(202).location(`/api/v1/executions/${executionId}`);
    if (isRequested) response.setHeader(REQUESTED, 'true');
    if (isRequested && (await this.isUnfillable(execution, signal))) response.setHeader(FEASIBLE, 'false');
    return ExecutionResponse.from(execution, permit);
  }

  /**
   * True if too few agents can approve. The request is already recorded, so it is answered even if this cannot be found
   * out.
   */
  private async isUnfillable({ id, decisionId }: Execution, signal: AbortSignal): Promise<boolean> {
    try {
      return decisionId !== null && (await this.approvers.isUnfillable(decisionId, signal));
    } catch (error) {
      this.logger.warn(`The approvers of the execution ${id} could not be counted: ${errorMessage(error)}`);
      return false;
    }
  }
}

@ApiTags('Executions')
@Controller('executions')
export class ApprovalsController {
  constructor(
    private readonly approvals: ApprovalsService,
    private readonly waits: RecordWaiter,
    private readonly history: RecordHistory,
  ) {}

  @Get(':id')
  @RequiresScope('read', 'execute', 'review', 'report')
  @SetRouteMetadata({ takesGatewayTokens: true })
  @ApiRoute(
    'Read an execution',
    'What was requested, which policies decided, how it ended, and what a reviewer who rejected it said.',
  )
  @ApiRecordId(EXECUTION)
  @Answers({ type: ExecutionResponse, description: 'The execution.' })
  @ApiErrors('CONTENT_ERASED')
  async get(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() { wait: seconds, asOf }: WaitQuery,
  ): Promise<ExecutionResponse> {
    const read = async (): Promise<Execution> =>
      requireFound(await this.history.find(EXECUTION, id, asOf, caller), 'execution');
    // Waiting makes sense if the next outcome does not depend on the caller.
    const isOpen = ({ outcome }: Execution): boolean => outcome === 'pending_approval' || outcome === 'running';
    const execution = await this.waits.waitForChange({ id, caller, seconds, signal, read, isOpen });
    return { ...ExecutionResponse.from(execution), rejection: await this.approvals.rejectionOf(execution) };
  }

  @Post('cancel')
  @RequiresScope('execute')
  @OwnAgentIn('agentId')
  @ApiRoute(
    'Cancel what a run waits for',
    'Cancels the executions of an agent in a run that wait for approval, with their decisions, and those that are approved: the newest ' +
      '1,000 in one commit, fewer if their parameters are very large.',
  )
  @Answers({ type: RunCancellationResponse, description: 'How many were cancelled, and whether there are more.' })
  async cancelRun(@Caller() caller: Caller, @Body() body: CancelRunRequest): Promise<RunCancellationResponse> {
    return this.approvals.cancelRun(caller, body);
  }

  @Post(':id/resume')
  @RequiresScope('execute')
  @SetRouteMetadata({ takesGatewayTokens: true })
  @ApiRoute(
    'Resume an approved execution',
    'Uses the approval, once. The agent and the policies in force are checked again: a deny added since takes precedence, and ' +
      'the approval must be what they require now. A refusal is recorded, and the approval remains valid until `approvedUntil`.',
  )
  @ApiRecordId(EXECUTION, { sample: 2 })
  @ApiBody({ type: ResumeRequest, required: false })
  @Answers({ type: ExecutionResponse, description: 'The execution: `authorized`, or with the outcome of its handler.' })
  @ApiErrors('POLICY_DENIED')
  async resume(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() requested: ResumeRequest,
    @GovernanceRepeat() repeats: string | null,
  ): Promise<ExecutionResponse> {
    requireVia(caller, requested.via);
    const { execution, permit } = await this.approvals.resume(caller, id, { ...requested, repeats });
    return ExecutionResponse.from(execution, permit);
  }

  @Post(':id/cancel')
  @RequiresScope('execute')
  @SetRouteMetadata({ takesGatewayTokens: true })
  @ApiRoute(
    'Cancel an execution before it proceeds',
    'Cancels an execution that waits for approval, with its decision, or one that is approved. The reason is kept in the audit trail.',
  )
  @ApiRecordId(EXECUTION, { sample: 3 })
  @ApiBody({ type: CancelDecisionRequest, required: false })
  @Answers({ type: ExecutionResponse, description: 'The cancelled execution.' })
  async cancel(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: CancelDecisionRequest,
  ): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.approvals.cancel(caller, id, reason ?? null));
  }
}
