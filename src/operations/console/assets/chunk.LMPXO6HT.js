import{l as e}from"./chunk.73EDD7CW.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
