import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, RouterModule } from '@nestjs/core';
import { AgentsModule } from './agents/agents.module';
import { AuditModule } from './audit/audit.module';
import { ConfigurationModule } from './config/configuration.module';
import type { Environment } from './config/read-configuration';
import { DecisionsModule } from './decisions/decisions.module';
import { DocsModule } from './docs/docs.module';
import { EntitiesModule } from './entities/entities.module';
import { ExecutionsModule } from './executions/executions.module';
import { HealthModule } from './health/health.module';
import { ApiKeyGuard } from './http/authentication/api-key.guard';
import { AllExceptionsFilter } from './http/errors/exception.filter';
import { FallbackModule } from './http/fallback/fallback.module';
import { ListsModule } from './http/lists/lists.module';
import { readTarget } from './http/middleware/readable-target';
import { assignRequestId } from './http/middleware/request-id';
import { securityHeaders } from './http/middleware/security-headers';
import { AppThrottlerGuard } from './http/rate-limit/app-throttler.guard';
import { RateLimitModule } from './http/rate-limit/rate-limit.module';
import { RequestInputInterceptor } from './http/request-input.interceptor';
import { ResponseHeadersInterceptor } from './http/response-headers.interceptor';
import { ShutdownGuard } from './http/shutdown/shutdown.guard';
import { ShutdownModule } from './http/shutdown/shutdown.module';
import { RequestValidationPipe } from './http/validation/request-validation.pipe';
import { LedgerModule } from './ledger/ledger.module';
import { LoggingModule } from './logging/logging.module';
import { MetricsModule } from './metrics/metrics.module';
import { PoliciesModule } from './policies/policies.module';
import { ProvenanceModule } from './provenance/provenance.module';

/** A module of routes: they stand under `/api/v1`. */
export type FeatureModule = Type;

const FEATURE_MODULES: readonly FeatureModule[] = [
  EntitiesModule,
  AgentsModule,
  PoliciesModule,
  ExecutionsModule,
  DecisionsModule,
  AuditModule,
  ProvenanceModule,
  HealthModule,
];

/** What Express does with every request before it looks for a route, in this order. */
export const MIDDLEWARE = [assignRequestId, securityHeaders(), readTarget] as const;

/** What every request passes on its way to a controller, in this order. */
export const PIPELINE = [
  { provide: APP_GUARD, useClass: AppThrottlerGuard },
  { provide: APP_GUARD, useClass: ShutdownGuard },
  { provide: APP_GUARD, useClass: ApiKeyGuard },
  { provide: APP_INTERCEPTOR, useClass: RequestInputInterceptor },
  { provide: APP_INTERCEPTOR, useClass: ResponseHeadersInterceptor },
  { provide: APP_PIPE, useClass: RequestValidationPipe },
  { provide: APP_FILTER, useClass: AllExceptionsFilter },
];

@Module({})
export class AppModule {
  /** The application with the given environment (or the process's), and with extension modules beside its own. */
  static async forRoot(
    environment: Environment | undefined,
    extensions: readonly FeatureModule[],
  ): Promise<DynamicModule> {
    const features = [...FEATURE_MODULES, ...extensions];
    return {
      module: AppModule,
      imports: [
        await ConfigurationModule.forRoot(environment),
        LoggingModule,
        ShutdownModule,
        RateLimitModule,
        ListsModule,
        LedgerModule,
        ...features,
        RouterModule.register(features.map((module) => ({ path: 'api/v1', module }))),
        MetricsModule,
        DocsModule,
        FallbackModule,
      ],
      providers: PIPELINE,
    };
  }
}
