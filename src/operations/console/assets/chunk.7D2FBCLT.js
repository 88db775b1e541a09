import{l as e}from"./chunk.SPGVS7RM.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
