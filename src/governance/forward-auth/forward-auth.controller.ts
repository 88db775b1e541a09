import { applyDecorators, Controller, Get, Query, Res } from '@nestjs/common';
import { ApiForbiddenResponse, ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Caller } from '../../http/input/caller.decorator';
import { GatewayHeaders, type ForwardedHeaders } from '../../http/input/forwarded.decorator';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import {
  AdmittedBy,
  ApiErrors,
  DECISION_ID_HEADER,
  REASON_HEADER,
  RequiresScope,
  SetRouteMetadata,
} from '../../http/request/routes';
import { QueryOneOf } from '../../http/validation/query-fields';
import { BoundCallers, ForwardAuthService } from './forward-auth.service';
import { forwardedRequest, HEADER_FAMILIES } from './forwarded-request';

const EXECUTION_ID_HEADER = 'X-Execution-Id';
const TEXT = { type: 'string' } as const;

class ForwardAuthQuery {
  @QueryOneOf(['writes'], {
    description:
      'If given, requests that only read (GET, HEAD) are evaluated, and neither recorded nor sent for approval.',
  })
  readonly record?: 'writes';
}

function ApiForwardedHeaders(): MethodDecorator {
  const headers = HEADER_FAMILIES.flatMap((names) =>
    names.map((name) => ApiHeader({ name, required: false, description: `Goes with ${names.join(', ')}.` })),
  );
  return applyDecorators(...headers);
}

/** Serves gateways that ask by HTTP about each request of their clients, outside `/api/v1`. */
@ApiTags('Forward auth')
@Controller('forward-auth')
export class ForwardAuthController {
  constructor(private readonly forwardAuth: ForwardAuthService) {}

  @Get()
  @RequiresScope('execute')
  @AdmittedBy(BoundCallers)
  @SetRouteMetadata({ isForGateways: true })
  @ApiRoute(
    'Ask whether a request may pass a gateway',
    'Requires a key or token that is bound to an agent, and the headers of a gateway. Executes `http.<method>` on ' +
      'the URL, with the resource type `http`, as that agent. One complete family of headers describes the request, each given once, from an address in ' +
      '`TRUST_PROXY`. With an `X-API-Key`, `Authorization` is ignored.',
  )
  @ApiForwardedHeaders()
  @Answers({
    description: 'It may pass.',
    headers: {
      [EXECUTION_ID_HEADER]: { schema: TEXT, description: 'The execution; absent where it was only evaluated.' },
    },
  })
  @ApiForbiddenResponse({
    description: 'It may not pass, or not yet: the same request passes once it is approved.',
    headers: {
      [REASON_HEADER]: { schema: TEXT, description: 'The `reason`; `approval_required` while it waits.' },
      [DECISION_ID_HEADER]: { schema: TEXT, description: 'The decision for which it waits, or that rejected it.' },
    },
  })
  @ApiErrors('POLICY_DENIED', 'CONFLICT')
  async ask(
    @Caller() caller: Caller,
    @GatewayHeaders() headers: ForwardedHeaders,
    @Query() { record }: ForwardAuthQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    const id = await this.forwardAuth.permitted(caller, forwardedRequest(headers), record === 'writes');
    if (id !== null) response.setHeader(EXECUTION_ID_HEADER, id);
  }
}
