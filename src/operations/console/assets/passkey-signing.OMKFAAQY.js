import{a,b,c,d}from"./chunk.I7KZUEYL.js";import"./chunk.A5WIYRJD.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
