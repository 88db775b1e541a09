import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { JsonObject } from '../../core/json/json-value';
import { DirectoryTurns } from './directory-turns';
import { providerConfig, resourceType, resourceTypes, schema, schemas } from './scim-discovery';
import { ScimRoutes } from './scim-routes';

/** Describes the supported parts of SCIM, and the stored attributes. */
@ApiExcludeController()
@ScimRoutes()
@Controller('scim/v2')
export class ScimDiscoveryController {
  private readonly base: string;

  constructor({ base }: DirectoryTurns) {
    this.base = base;
  }

  @Get('ServiceProviderConfig')
  config(): JsonObject {
    return providerConfig(this.base);
  }

  @Get('ResourceTypes')
  resourceTypes(): JsonObject {
    return resourceTypes(this.base);
  }

  @Get('ResourceTypes/:id')
  resourceType(@Param('id') id: string): JsonObject {
    return resourceType(id, this.base);
  }

  @Get('Schemas')
  schemas(): JsonObject {
    return schemas(this.base);
  }

  @Get('Schemas/:id')
  schema(@Param('id') id: string): JsonObject {
    return schema(id, this.base);
  }
}
