import { Body, Controller, Get, Post, type Type } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiTags, getSchemaPath, type SchemaObject } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../../http/openapi/response-members';
import { Configuration } from '../../../core/config/configuration';
import { ApiErrors, Public, RequiresScope, routeNotFound, SetRouteMetadata } from '../../../http/request/routes';
import { Caller } from '../../../http/input/caller.decorator';
import type { JsonObject } from '../../../core/json/json-value';
import {
  AccessDecisionResponse,
  AccessEvaluation,
  AccessEvaluations,
  AccessItemFaultResponse,
  AuthzenConfigurationResponse,
} from './authzen.schemas';
import { AuthzenService } from './authzen.service';

/** The most values in a list of evaluations. */
const MAX_VALUES = 100_000;

const DECISION = { $ref: getSchemaPath(AccessDecisionResponse) };
const ITEM = { anyOf: [DECISION, { $ref: getSchemaPath(AccessItemFaultResponse) }] };
const LIST: SchemaObject = {
  type: 'object',
  required: ['evaluations'],
  properties: { evaluations: { type: 'array', items: ITEM } },
};
const EXAMPLE = {
  subject: { type: 'agent', id: 'reminder-bot' },
  action: { name: 'read' },
  resource: { type: 'document', id: 'reports/2026' },
};

function bodyOf(type: Type, value: object): MethodDecorator {
  return ApiBody({ type, examples: { usual: { value } } });
}

/** Routes of the OpenID AuthZEN Authorization API 1.0. As the standard requires, unknown members are ignored. */
@ApiTags('AuthZEN')
@ApiExtraModels(AccessDecisionResponse, AccessItemFaultResponse)
@Controller()
export class AuthzenController {
  constructor(
    private readonly authzen: AuthzenService,
    private readonly configuration: Configuration,
  ) {}

  @Post('access/v1/evaluation')
  @RequiresScope('read', 'execute')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @ApiRoute(
    'Ask whether an action is allowed, as AuthZEN defines it',
    'Answered as evaluate would; nothing is recorded. Members that are not listed are ignored.',
  )
  @bodyOf(AccessEvaluation, EXAMPLE)
  @Answers({ type: AccessDecisionResponse, description: 'The decision, and why.' })
  async evaluation(@Caller() caller: Caller, @Body() body: JsonObject): Promise<object> {
    return this.authzen.evaluation(caller, body);
  }

  @Post('access/v1/evaluations')
  @RequiresScope('read', 'execute')
  @SetRouteMetadata({ ignoresIdempotencyKey: true, mostListedValues: MAX_VALUES })
  @ApiRoute(
    'Ask for a list of actions, as AuthZEN defines it',
    'All are answered by the same set of policies. Members next to the list are defaults for its items; a faulty item is ' +
      'answered in its place.',
  )
  @bodyOf(AccessEvaluations, { ...EXAMPLE, evaluations: [{}, { action: { name: 'delete' } }] })
  @Answers({
    schema: { anyOf: [LIST, DECISION] },
    description: 'The decisions in the order of the items; without a list, one decision.',
  })
  async evaluations(@Caller() caller: Caller, @Body() body: JsonObject): Promise<object> {
    return this.authzen.list(caller, body);
  }

  @Get('.well-known/authzen-configuration')
  @Public()
  @ApiRoute('Discover the AuthZEN routes', 'Requires the setting `PUBLIC_URL`.')
  @Answers({ type: AuthzenConfigurationResponse, description: 'Where the routes are.' })
  @ApiErrors('NOT_FOUND')
  discovery(): AuthzenConfigurationResponse {
    const { publicUrl } = this.configuration;
    if (publicUrl === null) throw routeNotFound();
    return {
      policy_decision_point: publicUrl,
      access_evaluation_endpoint: `${publicUrl}/access/v1/evaluation`,
      access_evaluations_endpoint: `${publicUrl}/access/v1/evaluations`,
    };
  }
}
