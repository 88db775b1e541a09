import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Configuration } from '../config/configuration';
import { Caller } from '../http/pipeline/caller.decorator';
import { routeNotFound } from '../http/request/request-errors';
import { IgnoresIdempotencyKey, Public, RequiresScope } from '../http/request/route-marks';
import type { JsonObject } from '../json/json-value';
import { AuthzenService } from './authzen.service';
import type { AccessDecision } from './authzen.service';

/** The routes of the OpenID AuthZEN Authorization API 1.0. As it requires, unknown members are ignored. */
@ApiExcludeController()
@Controller()
export class AuthzenController {
  constructor(
    private readonly authzen: AuthzenService,
    private readonly configuration: Configuration,
  ) {}

  @Post('access/v1/evaluation')
  @RequiresScope('read', 'execute')
  @IgnoresIdempotencyKey()
  @HttpCode(200)
  async evaluation(@Caller() caller: Caller, @Body() body: JsonObject): Promise<AccessDecision> {
    return this.authzen.evaluation(caller, body);
  }

  @Post('access/v1/evaluations')
  @RequiresScope('read', 'execute')
  @IgnoresIdempotencyKey()
  @HttpCode(200)
  async evaluations(@Caller() caller: Caller, @Body() body: JsonObject): Promise<object> {
    return this.authzen.list(caller, body);
  }

  @Get('.well-known/authzen-configuration')
  @Public()
  discovery(): object {
    const { publicUrl } = this.configuration;
    if (publicUrl === null) throw routeNotFound();
    return {
      policy_decision_point: publicUrl,
      access_evaluation_endpoint: `${publicUrl}/access/v1/evaluation`,
      access_evaluations_endpoint: `${publicUrl}/access/v1/evaluations`,
    };
  }
}
