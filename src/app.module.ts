import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, RouterModule } from '@nestjs/core';
import type { DestinationStream } from 'pino';
import { AgentsModule } from './agents/agents.module';
import { ApiKeysModule } from './api-keys/api-keys.module';
import { ApprovalsModule } from './authorization/approvals.module';
import { AuthorizationModule } from './authorization/authorization.module';
import { AuthzenModule } from './authzen/authzen.module';
import { AuditModule } from './audit/audit.module';
import { ConsoleModule } from './console/console.module';
import { CheckpointsModule } from './checkpoints/checkpoints.module';
import { ConfigurationModule } from './config/configuration.module';
import type { Environment } from './config/variables/variable';
import { DecisionsModule } from './decisions/decisions.module';
import { OpenApiModule } from './openapi/openapi.module';
import { EntitiesModule } from './entities/entities.module';
import { EvaluationModule } from './evaluation/evaluation.module';
import { EventsModule } from './events/events.module';
import { ExecutionsModule } from './executions/executions.module';
import { HealthModule } from './health/health.module';
import { AnswersModule } from './http/answers/answers.module';
import { ApiKeyGuard } from './http/authentication/api-key.guard';
import { AccessModule } from './http/authentication/access.module';
import { Authentication } from './http/authentication/authentication';
import { BodyModule } from './http/body/body.module';
import { AllExceptionsFilter } from './http/answers/exception.filter';
import { FallbackModule } from './http/fallback/fallback.module';
import { ListsModule } from './http/lists/lists.module';
import { commonHeaders } from './http/answers/common-headers';
import { assignRequestId } from './http/request/request-id';
import { AppThrottlerGuard } from './http/rate-limit/app-throttler.guard';
import { RateLimitModule } from './http/rate-limit/rate-limit.module';
import { RequestInputGuard } from './http/pipeline/request-input.guard';
import { ShutdownGate } from './http/shutdown/shutdown-gate';
import { ShutdownModule } from './http/shutdown/shutdown.module';
import { RequestValidationPipe } from './http/validation/request-validation.pipe';
import { LedgerModule } from './ledger/ledger.module';
import { LoggingModule } from './logging/logging.module';
import { MetricsModule } from './metrics/metrics.module';
import { PoliciesModule } from './policies/policies.module';
import { PolicyPlansModule } from './policy-plans/policy-plans.module';
import { ProvenanceModule } from './provenance/provenance.module';
import { TokensModule } from './tokens/tokens.module';
import { WebhooksModule } from './webhooks/webhooks.module';

/** A module of routes, which are served under `/api/v1`. */
export type FeatureModule = Type;

const FEATURE_MODULES: readonly FeatureModule[] = [
  EntitiesModule,
  AgentsModule,
  PoliciesModule,
  EvaluationModule,
  PolicyPlansModule,
  AuthorizationModule,
  ExecutionsModule,
  DecisionsModule,
  ApprovalsModule,
  ApiKeysModule,
  AuditModule,
  EventsModule,
  WebhooksModule,
  // Before the entries, whose route takes any word for a sequence.
  CheckpointsModule,
  ProvenanceModule,
  HealthModule,
];

/** The middleware that Express runs for every request before routing, in this order. */
export const MIDDLEWARE = [assignRequestId, commonHeaders()] as const;

/** What every request passes on its way to a controller, in this order, and the providers that the guards share. */
export const PIPELINE = [
  Authentication,
  { provide: APP_GUARD, useClass: AppThrottlerGuard },
  { provide: APP_GUARD, useExisting: ShutdownGate },
  { provide: APP_GUARD, useClass: ApiKeyGuard },
  { provide: APP_GUARD, useClass: RequestInputGuard },
  { provide: APP_PIPE, useClass: RequestValidationPipe },
  { provide: APP_FILTER, useClass: AllExceptionsFilter },
];

@Module({})
export class AppModule {
  /**
   * The application described by `AppOptions`: its environment or the process's, and its modules in addition to our
   * own.
   */
  static async forRoot(
    environment: Environment | undefined,
    extensions: readonly FeatureModule[],
    logStream?: DestinationStream,
  ): Promise<DynamicModule> {
    const features = [...FEATURE_MODULES, ...extensions];
    return {
      module: AppModule,
      imports: [
        await ConfigurationModule.forRoot(environment),
        LoggingModule.to(logStream),
        ShutdownModule,
        AccessModule,
        TokensModule,
        BodyModule,
        AnswersModule,
        RateLimitModule,
        ListsModule,
        LedgerModule,
        ...features,
        RouterModule.register(features.map((module) => ({ path: 'api/v1', module }))),
        AuthzenModule,
        MetricsModule,
        OpenApiModule,
        ConsoleModule,
        FallbackModule,
      ],
      providers: PIPELINE,
    };
  }
}
